/** What the screens beside the runs show: a packed dataset, a market's history, and the reports of a month. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PoolOutcome } from '@tidewheel/placement/market.ts';
import sharp from 'sharp';
import { makeReport } from '../../functions/run/attempts/make-report.ts';
import { packAll, settings } from '../../test/support/builders/packing.ts';
import {
  attemptOf,
  declarationOf,
  outcomeOf,
  placementOf,
  runOf,
} from '../../test/support/builders/records.ts';
import type { Ground } from '../../test/support/world/ground.ts';

const HOUR = 3_600;
const CLASSES = 10;
/** SageMaker bills Spot as fewer seconds of the On-Demand price. */
const SPOT_SHARE = 0.4;
const TYPES = { 'g5.xlarge': 1.006, 'g5.2xlarge': 1.212, 'g5.4xlarge': 1.624 } as const;
const ZONES = ['use1-az1', 'use1-az2', 'use1-az4', 'use1-az5', 'use1-az6'] as const;

const earlier = (seconds: number): string => new Date(Date.now() - seconds * 1_000).toISOString();
/** The same number for the same place, from 0 to 1. */
const noise = (...at: number[]): number => {
  const value =
    Math.sin(at.reduce((sum, each, place) => sum + each * (place + 1) * 12.9898, 1)) * 43_758.5453;
  return value - Math.floor(value);
};

/** Two generations of digits in ten uneven classes, and what was no image. */
export async function packDataset({ blobStore }: Ground): Promise<void> {
  const incoming = bucketKeys.incoming('digits');
  for (let place = 0; place < 120; place += 1) {
    const digit = Math.floor(noise(place) ** 2 * CLASSES);
    await blobStore.put(
      `${incoming}${digit}/${String(place).padStart(4, '0')}.png`,
      await imageOf(digit, place),
    );
  }
  await blobStore.put(`${incoming}3/truncated.png`, Buffer.from('not an image'));
  await blobStore.put(`${incoming}notes.txt`, Buffer.from('a note'));
  await packAll(blobStore, settings({ accept: ['.png'], label: 'parentFolder', balance: 'over' }));
}

async function imageOf(digit: number, place: number): Promise<Buffer> {
  const side = 28;
  const hue = `hsl(${(place * 37) % 360}, 45%, 35%)`;
  const svg = `<svg xmlns="http://www.w3.org/2000/svg" width="${side}" height="${side}"><rect width="28" height="28" fill="${hue}"/><text x="14" y="22" font-size="22" font-family="sans-serif" text-anchor="middle" fill="white" transform="rotate(${noise(place, 2) * 30 - 15} 14 14)">${digit}</text></svg>`;
  return sharp(Buffer.from(svg)).png().toBuffer();
}

/** A week of samples, four a day, and what our own attempts met. */
export async function fillMarket(at: Ground): Promise<void> {
  for (const [zone, zoneId] of ZONES.entries())
    for (let step = 28; step >= 0; step -= 1) {
      const time = earlier(step * 6 * HOUR);
      const drift = Math.sin((step + zone * 5) / 6);
      const types = Object.entries(TYPES);
      await at.marketSamples.put({
        family: 'g5',
        zoneId,
        at: time,
        readAt: time,
        scores: Object.fromEntries(
          types.map(([type], place) => [
            `2 x ${type}`,
            Math.max(1, Math.min(9, Math.round(6 - zone + place + 2 * drift))),
          ]),
        ),
        spotUsd: Object.fromEntries(
          types.map(([type, usd]) => [type, usd * (0.35 + 0.08 * zone + 0.05 * drift)]),
        ),
        onDemandUsd: { ...TYPES },
      });
    }
  for (let place = 0; place < 40; place += 1) await at.poolOutcomes.put(outcomeAt(place));
}

function outcomeAt(place: number): PoolOutcome {
  const end = noise(place, 3) < 0.6 ? 'kept' : noise(place, 4) < 0.6 ? 'lost' : 'capacityError';
  const time = earlier((place + 1) * 4 * HOUR);
  return {
    runId: `digits-${String(9_900 + place).padStart(6, '0')}`,
    attempt: 1,
    instanceType: Object.keys(TYPES)[Math.floor(noise(place, 5) * 3)] ?? 'g5.xlarge',
    zoneId: ZONES[Math.floor(noise(place, 6) * ZONES.length)],
    purchaseOption: 'spot',
    launcher: 'sagemaker',
    nodes: 2,
    requestedAt: time,
    endedAt: time,
    end,
  };
}

/** Of a run that ended so many seconds ago: one attempt, sometimes after an interruption. */
export function putReport(at: Ground, batch: number, endedSeconds: number) {
  const [began, ended] = [endedSeconds + 1_800 + noise(batch) * HOUR, endedSeconds];
  const run = runOf('digits', batch, {
    status: 'succeeded',
    createdAt: earlier(began),
    updatedAt: earlier(ended),
  });
  const isLost = noise(batch, 2) < 0.3;
  const held = Math.round(began - ended - 200);
  const zoneId = ZONES[Math.floor(noise(batch, 3) * ZONES.length)];
  const pool = { ...placementOf().pool, ...(zoneId !== undefined && { zoneId }) };
  const attempt = (number: number, kind: 'completed' | 'interrupted', seconds: number) =>
    attemptOf(run.runId, number, {
      placement: placementOf({ pool }),
      createdAt: earlier(began),
      outcome: outcomeOf(kind, {
        endedAt: earlier(ended),
        trainingSeconds: seconds,
        billableSeconds: SPOT_SHARE * seconds,
      }),
    });
  const attempts = isLost
    ? [attempt(1, 'interrupted', held / 3), attempt(2, 'completed', held)]
    : [attempt(1, 'completed', held)];
  const report = makeReport({ run, attempts, timeline: [], status: 'succeeded', finishedAt: earlier(ended) });
  at.store.put(bucketKeys.report('digits', run.runId), JSON.stringify(report));
  return report;
}

/** Two trials of another number of loader workers, the second one faster. */
export async function putProbes(at: Ground): Promise<void> {
  for (const [place, workers] of [2, 8].entries()) {
    const number = place + 1;
    const runId = `digits-probe-00000${number}`;
    await at.runs.create(
      runOf('digits', 0, {
        runId,
        status: 'succeeded',
        probe: { number },
        createdAt: earlier(HOUR - number * 300),
        updatedAt: earlier(HOUR - number * 300 - 240),
        declaration: declarationOf('digits', {
          training: { strategy: 'ddp', hyperparameters: { num_workers: workers } },
          dataset: { pin: 'digits-000001' },
        }),
      }),
    );
    await at.attempts.create(
      attemptOf(runId, 1, {
        status: 'done',
        outcome: outcomeOf('completed', { trainingSeconds: 180, billableSeconds: 180 }),
      }),
    );
    const blockSeconds = [0, 1, 2, 3, 4].map((block) => 4 / number + noise(block, number) / 10);
    const steps = { basis: 'hooks', steps: 200, samplesPerStep: 64 };
    at.store.put(
      `${bucketKeys.evidence('digits', runId)}1-algo-1-steps.json`,
      JSON.stringify({ ...steps, blockSeconds, blockSteps: blockSeconds.map(() => 32) }),
    );
  }
}
