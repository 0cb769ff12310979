/** Two pipelines share the arrivals queue: how long the flood of one holds up the run of the other, by a virtual clock. */
import { beforeEach, expect, it } from 'vitest';
import { takeArrivals } from '../../../functions/core/ingest/take-arrivals.ts';
import { bucketKeys } from '../../../functions/core/shared/keys.ts';
import { onArrival } from '../../../functions/on-arrival/function.ts';
import { created, DECLARATION, type Ground, ground, message } from '../../support/world/ground.ts';

/** What S3 takes under one prefix. https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html */
const PUTS_A_SECOND = 3_500;
const FLOOD_SECONDS = 20;
/** Measured: 6.8 ms of a core for 1,000 messages; 512 MB are 0.29 of a core. A few calls take 0.1 s together. */
const invocationSeconds = (messages: number) => 0.1 + messages * 24e-6;
const STEP_SECONDS = 0.05;

const [mapping] = (onArrival.events ?? []) as readonly {
  readonly sqs: {
    readonly batchSize: number;
    readonly maximumBatchingWindow: number;
    readonly maximumConcurrency: number;
  };
}[];

let at: Ground;
beforeEach(() => {
  at = ground();
  at.declare();
  at.store.put(bucketKeys.pipeline('letters'), DECLARATION.replace('digits', 'letters'));
});

/** The queue in the order of its messages, read by as many pollers as the mapping allows. */
async function pass(seconds: number, arriving: (second: number) => readonly string[], batchSize: number) {
  const limits = {
    window: mapping?.sqs.maximumBatchingWindow ?? 0,
    slots: mapping?.sqs.maximumConcurrency ?? 0,
  };
  const queue: { readonly body: string; readonly sent: number }[] = [];
  let busyUntil: number[] = [];
  let first = 0;
  let largestBacklog = 0;
  for (let now = 0; now < seconds; now += STEP_SECONDS) {
    for (const body of arriving(now)) queue.push({ body, sent: now });
    busyUntil = busyUntil.filter((until) => until > now);
    largestBacklog = Math.max(largestBacklog, queue.length - first);
    while (busyUntil.length < limits.slots && first < queue.length) {
      const batch = queue.slice(first, first + batchSize);
      if (batch.length < batchSize && now - (batch[0]?.sent ?? now) < limits.window) break;
      first += batch.length;
      busyUntil.push(now + invocationSeconds(batch.length));
      await takeArrivals(
        at,
        batch.map(({ body }, index) => message(body, `${first}/${index}`)),
      );
    }
    at.clock.advance(STEP_SECONDS);
  }
  return { largestBacklog, left: queue.length - first };
}

const arrival = (pipeline: string, name: string) =>
  created(bucketKeys.incoming(pipeline) + name, at.clock.now());

/** A flood of digits, and one letter in its middle. @returns how late the letter's run is */
async function flood(batchSize: number) {
  const droppedAt = FLOOD_SECONDS / 2;
  const began = at.clock.now().getTime();
  const passed = await pass(
    FLOOD_SECONDS + 3,
    (now) => {
      const isFlood = now < FLOOD_SECONDS;
      const digits = Array.from({ length: isFlood ? PUTS_A_SECOND * STEP_SECONDS : 0 }, (_, index) =>
        arrival('digits', `${now}-${index}.png`),
      );
      return Math.abs(now - droppedAt) < STEP_SECONDS / 2 ? [...digits, arrival('letters', 'a.png')] : digits;
    },
    batchSize,
  );
  const run = await at.runs.get('letters-000001');
  const lateSeconds = run && (Date.parse(run.createdAt) - began) / 1_000 - droppedAt;
  return { ...passed, lateSeconds };
}

it('delays the run of another pipeline by seconds only', async () => {
  const { lateSeconds, largestBacklog, left } = await flood(mapping?.sqs.batchSize ?? 0);
  expect(lateSeconds).toBeLessThan(2);
  expect(largestBacklog).toBeLessThan(2 * PUTS_A_SECOND);
  expect(left).toBe(0);
  // A new account may have ten slots: most of them stay free.
  expect(mapping?.sqs.maximumConcurrency).toBeLessThanOrEqual(3);
});

it('would delay it for long in small batches', async () => {
  const { lateSeconds, left } = await flood(10);
  expect(lateSeconds).toBeUndefined();
  expect(left).toBeGreaterThan(10 * PUTS_A_SECOND);
});
