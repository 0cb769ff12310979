/** The arrivals queue with its event source mapping, by a virtual clock: batches as Lambda's pollers gather them. */

import * as z from 'zod';
import { onArrival } from '../../../functions/handlers/on-arrival/function.ts';
import { takeArrivals } from '../../../functions/run/ingest/take-arrivals.ts';
import type { QueueMessage } from '../../../functions/run/queue-messages.ts';
import { type Ground, message } from './ground.ts';

/** What S3 takes under one prefix. https://docs.aws.amazon.com/AmazonS3/latest/userguide/optimizing-performance.html */
export const PUTS_A_SECOND = 3_500;
export const STEP_SECONDS = 0.05;
/** Measured: 6.8 ms of a core for 1,000 messages; 512 MB are 0.29 of a core. A few calls take 0.1 s together. */
const invocationSeconds = (messages: number) => 0.1 + messages * 24e-6;
/** Of a request to SQS. */
const MESSAGES_A_REQUEST = 10;

interface Mapping {
  readonly batchSize: number;
  readonly maximumBatchingWindow: number;
  readonly maximumConcurrency: number;
}

/** As the description of on-arrival says. */
export const arrivalsMapping: Mapping = z
  .tuple([
    z.object({
      sqs: z.object({
        batchSize: z.number(),
        maximumBatchingWindow: z.number(),
        maximumConcurrency: z.number(),
      }),
    }),
  ])
  .parse(onArrival.events)[0].sqs;

export interface Passed {
  readonly messages: number;
  readonly largestBacklog: number;
  readonly left: number;
  readonly invocations: number;
  readonly invocationSeconds: number;
  /** Sends, receives and deletes. */
  readonly sqsRequests: number;
}

/** @param arriving bodies of the messages that S3 sends in the step that begins at this second */
export async function passArrivals(
  at: Pick<Ground, 'clock'> & Parameters<typeof takeArrivals>[0],
  seconds: number,
  arriving: (second: number) => readonly string[],
  mapping = arrivalsMapping,
): Promise<Passed> {
  const queue: (QueueMessage & { readonly sent: number })[] = [];
  let busyUntil: number[] = [];
  let first = 0;
  const counted = { largestBacklog: 0, invocations: 0, invocationSeconds: 0, sqsRequests: 0 };
  for (let now = 0; now < seconds; now += STEP_SECONDS) {
    for (const body of arriving(now)) queue.push({ ...message(body, `m${queue.length}`), sent: now });
    busyUntil = busyUntil.filter((until) => until > now);
    counted.largestBacklog = Math.max(counted.largestBacklog, queue.length - first);
    while (busyUntil.length < mapping.maximumConcurrency && first < queue.length) {
      const batch = queue.slice(first, first + mapping.batchSize);
      const waits = now - (batch[0]?.sent ?? now);
      if (batch.length < mapping.batchSize && waits < mapping.maximumBatchingWindow) break;
      first += batch.length;
      const lasts = invocationSeconds(batch.length);
      busyUntil.push(now + lasts);
      counted.invocations += 1;
      counted.invocationSeconds += lasts;
      counted.sqsRequests += 2 * Math.ceil(batch.length / MESSAGES_A_REQUEST);
      await takeArrivals(at, batch);
    }
    at.clock.advance(STEP_SECONDS);
  }
  counted.sqsRequests += queue.length;
  return { ...counted, messages: queue.length, left: queue.length - first };
}
