/** Two pipelines share the arrivals queue: how long the flood of one holds up the run of the other, by a virtual clock. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, expect, it } from 'vitest';
import {
  arrivalsMapping,
  PUTS_A_SECOND,
  passArrivals,
  STEP_SECONDS,
} from '../../../support/world/arrivals-queue.ts';
import { created, DECLARATION, type Ground, ground } from '../../../support/world/ground.ts';

const FLOOD_SECONDS = 20;

let at: Ground;
beforeEach(() => {
  at = ground();
  at.declare();
  at.store.put(bucketKeys.pipeline('letters'), DECLARATION.replace('digits', 'letters'));
});

const arrival = (pipeline: string, name: string) =>
  created(bucketKeys.incoming(pipeline) + name, at.clock.now());

/** A flood of digits, and one letter in its middle. @returns how late the letter's run is */
async function flood(batchSize: number) {
  const droppedAt = FLOOD_SECONDS / 2;
  const began = at.clock.now().getTime();
  const arriving = (now: number) => {
    const isFlood = now < FLOOD_SECONDS;
    const digits = Array.from({ length: isFlood ? PUTS_A_SECOND * STEP_SECONDS : 0 }, (_, index) =>
      arrival('digits', `${now}-${index}.png`),
    );
    return Math.abs(now - droppedAt) < STEP_SECONDS / 2 ? [...digits, arrival('letters', 'a.png')] : digits;
  };
  const passed = await passArrivals(at, FLOOD_SECONDS + 3, arriving, { ...arrivalsMapping, batchSize });
  const run = await at.runs.get('letters-000001');
  const lateSeconds = run && (Date.parse(run.createdAt) - began) / 1_000 - droppedAt;
  return { ...passed, lateSeconds };
}

it('delays the run of another pipeline by seconds only', async () => {
  const { lateSeconds, largestBacklog, left } = await flood(arrivalsMapping.batchSize);
  expect(lateSeconds).toBeLessThan(2);
  expect(largestBacklog).toBeLessThan(2 * PUTS_A_SECOND);
  expect(left).toBe(0);
  // A new account may have ten slots: most of them stay free.
  expect(arrivalsMapping.maximumConcurrency).toBeLessThanOrEqual(3);
});

it('would delay it for long in small batches', async () => {
  const { lateSeconds, left } = await flood(10);
  expect(lateSeconds).toBeUndefined();
  expect(left).toBeGreaterThan(10 * PUTS_A_SECOND);
});
