/** Reads the report of an ended run from the bucket. */

import { otherVersion, problemsText, UnreadableRecordError } from '@tidewheel/kit/errors.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import { check } from '@tidewheel/kit/validation.ts';
import * as z from 'zod';
import type { RunRecord } from '../../runs/run-records.ts';
import { bucketKeys } from '../../shared/keys.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { REPORT_VERSION, type RunReport, reportSchema } from '../report.ts';

const versioned = z.looseObject({ version: z.unknown().optional() });

/**
 * @returns undefined where there is none, or a person has damaged it
 * @throws UnreadableRecordError
 */
export async function readReport(
  store: Pick<ObjectStore, 'readText'>,
  { pipeline, runId }: Pick<RunRecord, 'pipeline' | 'runId'>,
): Promise<RunReport | undefined> {
  const stored = await store.readText(bucketKeys.report(pipeline, runId));
  const { data } = versioned.safeParse(parseJson(stored?.text ?? ''));
  if (data === undefined) return undefined;
  const report = `the report of ${runId}`;
  if (data.version !== REPORT_VERSION)
    throw otherVersion(report, { found: data.version, read: REPORT_VERSION });
  const read = check(reportSchema, data, 'hidden');
  if (read.ok) return read.value;
  throw new UnreadableRecordError(
    `${report} is of another release or damaged: ${problemsText(read.problems)}`,
  );
}
