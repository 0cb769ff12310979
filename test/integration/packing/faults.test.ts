/** Workers killed with SIGKILL at seeded moments, against a server that throttles, resets, truncates and corrupts. */
import { crc32 } from 'node:zlib';
import { describe, expect, it } from 'vitest';
import { type Fault, type MemoryS3, regularCorpus, startMemoryS3 } from '../../../bench/packing/memory-s3.ts';
import { layout } from '../../../functions/core/layout.ts';
import { seededRandom } from '../../../functions/core/packing/order.ts';
import { type RunningWorker, runWorker, startWorker } from './run-worker.ts';

const BUCKET = 'faulty';
const PIPELINE = 'faulty';
const DATE = 'Sat, 21 Nov 2026 04:00:00 GMT';
const RUN = 'faulty-000001';
const SETTINGS = { shardMegabytes: 2 };
/** A few in CI; set TIDEWHEEL_SEEDS to try hundreds. */
const SEEDS = Number(process.env['TIDEWHEEL_SEEDS'] ?? 3);
const FAULTS: readonly Fault[] = ['slowDown', 'internalError', 'reset', 'truncate', 'corrupt'];

const corpus = regularCorpus({
  prefix: layout.incoming(PIPELINE),
  count: 600,
  size: (index) => (index * 7_919) % 30_000,
  suffix: 'jpg',
});

const sealed = (server: MemoryS3): Map<string, number> => {
  const prefix = layout.generation(PIPELINE, RUN);
  const objects = [...server.objects.entries()].filter(([key]) => key.startsWith(prefix));
  return new Map(objects.map(([key, { body }]) => [key, crc32(body)]));
};

async function expectation(): Promise<Map<string, number>> {
  const server = await startMemoryS3({ corpus, date: DATE });
  try {
    const end = await runWorker({
      endpoint: server.url,
      bucket: BUCKET,
      pipeline: PIPELINE,
      runId: RUN,
      settings: SETTINGS,
    });
    if (end.code !== 0) throw new Error(end.errors);
    return sealed(server);
  } finally {
    await server.stop();
  }
}

/** The worker is killed when the server sees its n-th request, which is never answered. */
async function survive(
  seed: number,
): Promise<{ sealed: Map<string, number>; kills: number; faults: number }> {
  const next = seededRandom(`faults ${seed}`);
  let faults = 0;
  let left = Number.POSITIVE_INFINITY;
  let worker: RunningWorker | undefined;
  const decide = (): Fault | undefined => {
    left -= 1;
    if (left === 0) {
      worker?.kill();
      return 'stall';
    }
    if (next() % 50 !== 0) return undefined;
    faults += 1;
    return FAULTS[next() % FAULTS.length];
  };
  const server = await startMemoryS3({ corpus, date: DATE, faults: { decide } });
  try {
    for (let kills = 0; ; kills += 1) {
      left = kills < KILLS ? 1 + (next() % 650) : Number.POSITIVE_INFINITY;
      worker = startWorker({
        endpoint: server.url,
        bucket: BUCKET,
        pipeline: PIPELINE,
        runId: RUN,
        settings: SETTINGS,
      });
      const end = await worker.ended;
      if (end.code === 0) return { sealed: sealed(server), kills, faults };
      if (!end.killed) throw new Error(`seed ${seed}: ${end.errors}`);
    }
  } finally {
    await server.stop();
  }
}
const KILLS = 5;

describe('workers that are killed beside a faulty server', () => {
  it('end with the same sealed bytes', async () => {
    const calm = await expectation();
    expect(calm.size).toBeGreaterThan(5);
    let faults = 0;
    let kills = 0;
    for (let seed = 0; seed < SEEDS; seed += 1) {
      const outcome = await survive(seed);
      faults += outcome.faults;
      kills += outcome.kills;
      expect(outcome.sealed).toEqual(calm);
    }
    expect(faults).toBeGreaterThan(SEEDS * 5);
    expect(kills).toBeGreaterThan(SEEDS);
  }, 600_000);
});
