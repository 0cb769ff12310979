/** Plays one step's run: declares a pipeline, drops its data, waits for the report, and removes everything again. */
import { stringify } from 'yaml';
import { type BlobStore, listPages, readText } from '../../functions/core/packing/model/blob-store.ts';
import { readSealedManifest } from '../../functions/core/packing/model/sealed-arrivals.ts';
import { bucketKeys } from '../../functions/core/shared/keys.ts';
import { factsOf, type RunFacts } from './run-facts.ts';
import type { Hosts, RunPlan } from './steps.ts';

export interface Ground {
  /** The service's own S3 client: the steps prove it too. */
  readonly store: BlobStore;
  readonly now: () => Date;
  readonly sleep: (milliseconds: number) => Promise<void>;
  readonly say: (line: string) => void;
  readonly script: Uint8Array;
}

export interface PlannedRun {
  readonly pipeline: string;
  readonly plan: RunPlan;
  readonly hosts: Hosts | undefined;
}

const LOOK_MILLISECONDS = 2_000;
const MILLISECONDS_A_MINUTE = 60_000;

/** A run that an earlier start began is waited for, not begun again. @returns undefined after the step's patience */
export async function playRun(planned: PlannedRun, ground: Ground): Promise<RunFacts | undefined> {
  const { pipeline, plan } = planned;
  const { store, say } = ground;
  if ((await newestRun(store, pipeline)) === undefined) {
    await store.put(`${bucketKeys.source(pipeline)}train.py`, ground.script);
    await store.put(bucketKeys.pipeline(pipeline), encode(declarationOf(planned)));
    await drop(pipeline, plan, store);
    say(`  ${plan.files} files are dropped`);
  } else say('  a run of an earlier start is there: waiting for it');
  const deadline = ground.now().getTime() + plan.patienceMinutes * MILLISECONDS_A_MINUTE;
  while (ground.now().getTime() < deadline) {
    const facts = await finishedRun(store, pipeline);
    if (facts !== undefined) return facts;
    await ground.sleep(LOOK_MILLISECONDS);
  }
  return undefined;
}

/** Everything of the step's pipeline. */
export async function removePipeline(store: BlobStore, pipeline: string): Promise<void> {
  await store.delete(bucketKeys.pipeline(pipeline));
  for await (const { objects } of listPages(store, `${pipeline}/`))
    await store.deleteMany(objects.map(({ key }) => key));
}

const encode = (text: string): Uint8Array => new TextEncoder().encode(text);

export const declarationOf = ({ pipeline, plan, hosts }: PlannedRun): string =>
  stringify({
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
  });

const UPLOADS = 16;
/** Larger files are uploaded once; S3 makes the copies. */
const LARGEST_UPLOAD = 1_000_000;

async function drop(pipeline: string, { files, bytesEach }: RunPlan, store: BlobStore): Promise<void> {
  const keyOf = (index: number) => `${bucketKeys.incoming(pipeline)}${String(index).padStart(5, '0')}.bin`;
  const indices = Array.from({ length: files }, (_, index) => index);
  if (bytesEach > LARGEST_UPLOAD) return dropCopies(indices.map(keyOf), bytesEach, { store, pipeline });
  const put = async () => {
    for (let index = indices.shift(); index !== undefined; index = indices.shift())
      await store.put(keyOf(index), encode(String(index).padEnd(bytesEach, '.')));
  };
  await Promise.all(Array.from({ length: UPLOADS }, put));
  return undefined;
}

async function dropCopies(
  keys: readonly string[],
  bytes: number,
  { store, pipeline }: { readonly store: BlobStore; readonly pipeline: string },
): Promise<void> {
  const origin = `${pipeline}/original.bin`;
  const original = await store.put(origin, new Uint8Array(bytes));
  if (original.kind === 'refused') throw new Error(`${origin} was refused`);
  for (const key of keys) {
    const upload = await store.createUpload(key);
    const source = { key: origin, etag: original.etag, offset: 0, length: bytes };
    const copied = await store.copyPart(upload, { number: 1 }, source);
    if (copied.kind !== 'copied') throw new Error(`S3 did not copy ${origin}: ${copied.kind}`);
    await store.completeUpload(upload, [copied.part]);
  }
}

async function newestRun(store: BlobStore, pipeline: string): Promise<string | undefined> {
  const { prefixes } = await store.listPage(bucketKeys.runs(pipeline), { delimiter: '/' });
  return prefixes.at(-1)?.split('/').at(-2);
}

async function finishedRun(store: BlobStore, pipeline: string): Promise<RunFacts | undefined> {
  const runId = await newestRun(store, pipeline);
  if (runId === undefined) return undefined;
  const report = await readText(store, bucketKeys.report(pipeline, runId));
  if (report === undefined) return undefined;
  const manifest = await readSealedManifest(store, pipeline, runId);
  return factsOf(report, manifest?.samples ?? 0);
}
