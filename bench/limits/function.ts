/**
 * One function over a long listing, in a process of its own: `function.ts PART ENDPOINT`, with a part of `acts` below.
 * Prints what its longest invocation took, as JSON.
 */

import { runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import { planShards } from '@tidewheel/packing/plan.ts';
import { s3ObjectStore } from '../../functions/aws/s3/object-store.ts';
import { withParallelLists } from '../../functions/aws/s3/parallel-lists.ts';
import { reconcile } from '../../functions/run/attempts/reconcile.ts';
import { type IncomingLook, settleRun } from '../../functions/run/ingest/settle-run.ts';
import { wakeRun } from '../../functions/run/ingest/wake.ts';
import { STAMP } from '../../test/support/memory-s3/listing.ts';
import { ground } from '../../test/support/world/ground.ts';
import { openBenchStore } from '../bench-store.ts';
import { BUCKET, PIPELINE, type Spent } from './case.ts';

const HOUR_MILLISECONDS = 3_600_000;
const [name, endpoint = ''] = process.argv.slice(2);
await using opened = await openBenchStore({ bucket: BUCKET, endpoint });
const open = () => Promise.resolve(opened.store);
const store = withParallelLists(s3ObjectStore(open, BUCKET), open);
const at = { ...ground(), store };
const runId = runIdOf(PIPELINE, 1);
const longest = { seconds: 0, cpuSeconds: 0 };

async function invocation<T>(act: () => Promise<T>): Promise<T> {
  const began = performance.now();
  const cpuBefore = process.cpuUsage();
  const result = await act();
  const { user, system } = process.cpuUsage(cpuBefore);
  longest.seconds = Math.max(longest.seconds, (performance.now() - began) / 1_000);
  longest.cpuSeconds = Math.max(longest.cpuSeconds, (user + system) / 1e6);
  return result;
}

async function settle(): Promise<string> {
  await wakeRun(at, { pipeline: PIPELINE, trigger: 'arrival' });
  let observation: IncomingLook | undefined;
  for (let look = 1; ; look += 1) {
    const seen = observation;
    const settled = await invocation(() => settleRun(at, { runId, observation: seen }));
    if (settled.kind !== 'wait') return `settled after ${look} looks`;
    observation = settled.observation ?? undefined;
    at.clock.set(new Date(settled.until));
  }
}

async function sweep(): Promise<string> {
  const { woken, failures } = await invocation(() => reconcile(at, { sweep: true }));
  if (woken[0] !== runId) throw new Error(`the sweep woke ${woken.join()}: ${failures.join('; ')}`);
  return `woke ${runId}`;
}

/** The folder was listed whole an hour ago, and no notification came since. */
async function settleNotified(): Promise<string> {
  const since = new Date(at.clock.now().getTime() - HOUR_MILLISECONDS).toISOString();
  await at.pipelines.ensure(PIPELINE, { firstBatch: 1, at: since, notified: { since, listedAt: since } });
  return settle();
}

async function plan(batch = 1, notified?: { readonly since: string; readonly now: Date }): Promise<string> {
  const packing = packingSchema.parse({ label: 'none' });
  const { objects } = await invocation(() =>
    planShards(
      { store: opened.store, now: () => notified?.now ?? new Date() },
      { runId: runIdOf(PIPELINE, batch), pipeline: PIPELINE, packing, notifiedSince: notified?.since },
    ),
  );
  return `planned ${objects} objects`;
}

const acts: Readonly<Record<string, () => Promise<string>>> = {
  settle,
  sweep,
  plan: () => plan(),
  'plan-new': () => plan(2),
  'settle-notified': settleNotified,
  'plan-notified': () => plan(2, { since: '2026-01-01T00:00:00.000Z', now: new Date(STAMP) }),
};
const act = acts[name ?? ''];
if (act === undefined) throw new Error(`there is no function ${name}`);
const outcome = await act();
const peakMegabytes = process.resourceUsage().maxRSS / 1_024;
process.stdout.write(`${JSON.stringify({ outcome, ...longest, peakMegabytes } satisfies Spent)}\n`);
