/** Plays one step's run: declares a pipeline, drops its data, waits for the report, and removes everything again. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { asWritten } from '@tidewheel/declaration/pipeline.ts';
import { eachLimited } from '@tidewheel/kit/limited.ts';
import { manifestsOf } from '@tidewheel/packing/dataset.ts';
import { type BlobStore, listPages, readText } from '@tidewheel/packing/store.ts';
import { stringify } from 'yaml';
import { factsOf, type RunFacts } from './run-facts.ts';
import type { Hosts, TrialRun } from './steps.ts';

export interface Ground {
  /** The service's own S3 client: the steps prove it too. */
  readonly store: BlobStore;
  readonly now: () => Date;
  readonly sleep: (milliseconds: number) => Promise<void>;
  readonly say: (line: string) => void;
  readonly script: Uint8Array;
  /** Ends waits and drops; what is there stays for the next start. */
  readonly signal: AbortSignal;
}

export interface PlannedRun {
  readonly pipeline: string;
  readonly plan: TrialRun;
  readonly hosts: Hosts | undefined;
}

const LOOK_MILLISECONDS = 2_000;
const MILLISECONDS_A_MINUTE = 60_000;

/**
 * What an earlier start began goes on: files that it did not drop are dropped now, and its run is waited for.
 * @returns undefined after the step's patience
 */
export async function playRun(planned: PlannedRun, ground: Ground): Promise<RunFacts | undefined> {
  const { pipeline, plan } = planned;
  const { store, say } = ground;
  const declaration = bucketKeys.pipeline(pipeline);
  if ((await store.head(declaration)) === undefined) {
    // What a removal that was cut short has left.
    await removePipeline(store, pipeline);
    await store.put(`${bucketKeys.source(pipeline)}train.py`, ground.script);
    await store.put(declaration, encode(declarationOf(planned)));
  } else say('  an earlier start began this step: it goes on');
  const dropped = await drop(planned, ground);
  if (dropped > 0) say(`  ${dropped} files are dropped`);
  say(`  waiting for the report of pipeline ${pipeline}, at most ${plan.patienceMinutes} minutes`);
  return reportOfWhole(planned, ground);
}

/** A drop that was cut short may have been sealed in part: the rest is a run of its own, whose dataset has all. */
async function reportOfWhole(
  { pipeline, plan }: PlannedRun,
  { store, say, now, sleep }: Ground,
): Promise<RunFacts | undefined> {
  const deadline = now().getTime() + plan.patienceMinutes * MILLISECONDS_A_MINUTE;
  let newest: RunFacts | undefined;
  while (now().getTime() < deadline) {
    const facts = await finishedRun(store, pipeline);
    if (facts !== undefined && (facts.status === 'failed' || facts.samples >= plan.files)) return facts;
    if (facts !== undefined && newest === undefined)
      say(`  a run ended with ${facts.samples} of ${plan.files} files: waiting for the run with the rest`);
    newest = facts ?? newest;
    await sleep(LOOK_MILLISECONDS);
  }
  return newest;
}

/** Everything of the step's pipeline, the declaration last: data without one would look like a drop without a pipeline. */
export async function removePipeline(store: BlobStore, pipeline: string): Promise<void> {
  for await (const { objects } of listPages(store, `${pipeline}/`))
    if (objects.length > 0) await store.deleteMany(objects.map(({ key }) => key));
  await store.delete(bucketKeys.pipeline(pipeline));
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

export const declarationOf = ({ pipeline, plan, hosts }: PlannedRun): string =>
  stringify(
    asWritten({
      name: pipeline,
      settle: { quietSeconds: 10, maximumWaitSeconds: 600 },
      packing: { label: 'none' },
      training: { strategy: 'ddp', hyperparameters: { seconds: plan.trainingSeconds } },
      compute: plan.compute(hosts),
      limits: {
        deadlineHours: 3,
        maximumRunSeconds: plan.maximumRunSeconds,
        budgetUsd: plan.budgetUsd,
        attempts: 5,
      },
    }),
  );

const UPLOADS = 16;
/** Larger files are uploaded once; S3 makes the copies. */
const LARGEST_UPLOAD = 1_000_000;

/** Drops the files that are not there yet. @returns how many */
async function drop({ pipeline, plan }: PlannedRun, { store, signal }: Ground): Promise<number> {
  const incoming = bucketKeys.incoming(pipeline);
  const there = new Set<string>();
  for await (const { objects } of listPages(store, incoming)) for (const { key } of objects) there.add(key);
  const indices = Array.from({ length: plan.files }, (_, index) => index);
  const keyOf = (index: number) => `${incoming}${String(index).padStart(5, '0')}.bin`;
  const missing = indices.filter((index) => !there.has(keyOf(index)));
  const count = missing.length;
  if (plan.bytesEach > LARGEST_UPLOAD) {
    if (count > 0) await dropCopies(missing.map(keyOf), plan.bytesEach, { store, pipeline, signal });
    return count;
  }
  await eachLimited(missing, UPLOADS, async (index) => {
    signal.throwIfAborted();
    await store.put(keyOf(index), encode(String(index).padEnd(plan.bytesEach, '.')));
  });
  return count;
}

async function dropCopies(
  keys: readonly string[],
  bytes: number,
  { store, pipeline, signal }: Pick<Ground, 'store' | 'signal'> & { readonly pipeline: string },
): Promise<void> {
  const origin = `${pipeline}/original.bin`;
  const original = await store.put(origin, new Uint8Array(bytes));
  if (original.kind === 'refused') throw new Error(`${origin} was refused`);
  for (const key of keys) {
    signal.throwIfAborted();
    const upload = await store.createUpload(key, 'crc32');
    const source = { key: origin, etag: original.etag, offset: 0, length: bytes };
    const copied = await store.copyPart(upload, { number: 1 }, source);
    if (copied.kind !== 'copied') throw new Error(`S3 did not copy ${origin}: ${copied.kind}`);
    await store.completeUpload(upload, [copied.part]);
  }
}

/** The newest run that has ended. One that found nothing new says nothing about the step. */
async function finishedRun(store: BlobStore, pipeline: string): Promise<RunFacts | undefined> {
  const { prefixes } = await store.listPage(bucketKeys.runs(pipeline), { delimiter: '/' });
  for (const runId of prefixes.map((prefix) => prefix.split('/').at(-2) ?? '').toReversed()) {
    const report = await readText(store, bucketKeys.report(pipeline, runId));
    if (report === undefined) continue;
    const facts = await factsOf(report, async (generations) => {
      const manifests = await manifestsOf(store, pipeline, generations);
      return manifests.reduce((sum, { samples }) => sum + samples, 0);
    });
    if (facts.status !== 'empty') return facts;
  }
  return undefined;
}
