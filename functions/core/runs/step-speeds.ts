/** Reads how fast the last measured attempt of a limited run made its steps. */
import {
  readStepBlocks,
  type StepSpeed,
  stepBlocksAttempt,
  stepSpeedOf,
} from '../doctor/probe/step-blocks.ts';
import { bucketKeys } from '../shared/keys.ts';
import type { ObjectStore } from '../shared/ports.ts';
import type { RunRecord } from './run-records.ts';

/** @returns undefined where no attempt measured enough steps */
export async function readStepSpeed(
  store: ObjectStore,
  { pipeline, runId }: Pick<RunRecord, 'pipeline' | 'runId'>,
): Promise<StepSpeed | undefined> {
  const found: { readonly key: string; readonly attempt: number }[] = [];
  for await (const { key } of store.list(bucketKeys.evidence(pipeline, runId))) {
    const attempt = stepBlocksAttempt(key);
    if (attempt !== undefined) found.push({ key, attempt });
  }
  const last = Math.max(0, ...found.map(({ attempt }) => attempt));
  const texts = await Promise.all(
    found.filter(({ attempt }) => attempt === last).map(({ key }) => store.readText(key)),
  );
  const blocks = texts.map((stored) => readStepBlocks(stored?.text ?? ''));
  const read = blocks.filter((each) => each !== undefined);
  return read.length === blocks.length ? stepSpeedOf(read) : undefined;
}
