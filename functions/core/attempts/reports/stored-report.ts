/** Reads the report of an ended run from the bucket. */
import type { RunRecord } from '../../runs/run-records.ts';
import { StoredVersionError } from '../../shared/errors.ts';
import { bucketKeys } from '../../shared/keys.ts';
import type { ObjectStore } from '../../shared/ports.ts';
import { REPORT_VERSION, type RunReport } from '../report.ts';

/**
 * @returns undefined where there is none, or a person has damaged it
 * @throws StoredVersionError
 */
export async function readReport(
  store: Pick<ObjectStore, 'readText'>,
  { pipeline, runId }: Pick<RunRecord, 'pipeline' | 'runId'>,
): Promise<RunReport | undefined> {
  const stored = await store.readText(bucketKeys.report(pipeline, runId));
  const report = parse(stored?.text);
  if (typeof report !== 'object' || report === null) return undefined;
  if (isReport(report)) return report;
  const found = 'version' in report ? report.version : undefined;
  throw new StoredVersionError('the report of this run', { found, read: REPORT_VERSION });
}

/** The service alone writes reports, so the version tells the fields. */
const isReport = (value: object): value is RunReport =>
  'version' in value && value.version === REPORT_VERSION;

function parse(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}
