/** Reads how fast the last measured attempt of a limited run made its steps. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { readDocument, valueOf } from '@tidewheel/contract/document.ts';
import { stepBlocks } from '@tidewheel/contract/evidence.ts';
import { namePartsOf } from '@tidewheel/contract/files.ts';
import { type StepSpeed, stepSpeedOf } from '@tidewheel/doctor/probe.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { readHostFiles } from './host-files.ts';
import type { RunRecord } from './run-records.ts';

/** @returns undefined where no attempt measured enough steps */
export async function readStepSpeed(
  store: ObjectStore,
  { pipeline, runId }: Pick<RunRecord, 'pipeline' | 'runId'>,
): Promise<StepSpeed | undefined> {
  const found = await readHostFiles(
    store,
    bucketKeys.evidence(pipeline, runId),
    (key) => namePartsOf('stepBlocks', key)?.attempt,
  );
  const last = Math.max(0, ...found.map(({ of }) => of));
  const blocks = found
    .filter(({ of }) => of === last)
    .map(({ text }) => valueOf(readDocument(stepBlocks, text)));
  const read = blocks.filter((each) => each !== undefined);
  return read.length === blocks.length ? stepSpeedOf(read) : undefined;
}
