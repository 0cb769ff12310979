/** What lies in the arrivals queue: S3's events, and the messages of pipelines' schedules. Untrusted until parsed. */

import { PIPELINES_PREFIX, pipelineOfArrival, testObjectId } from '@tidewheel/contract/bucket-keys.ts';
import { pipelineName } from '@tidewheel/declaration/pipeline.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import * as z from 'zod';
import type { Wake } from './wake.ts';

/** https://docs.aws.amazon.com/AmazonS3/latest/userguide/notification-content-structure.html */
const notification = z.object({
  Records: z.array(
    z.object({
      eventName: z.string(),
      eventTime: z.coerce.date(),
      s3: z.object({ object: z.object({ key: z.string() }) }),
    }),
  ),
});
type NotificationRecord = z.infer<typeof notification>['Records'][number];

/**
 * From a bucket whose notifications are not the stack's own: EventBridge encodes no key.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/ev-events.html
 */
const objectEvent = z.object({
  'detail-type': z.enum(['Object Created', 'Object Deleted']),
  time: z.coerce.date(),
  detail: z.object({ object: z.object({ key: z.string() }) }),
});

/** S3 sends it once when notifications are configured. */
const testEvent = z.object({ Event: z.literal('s3:TestEvent') });

const scheduled = z.object({ schedule: z.object({ pipeline: pipelineName }) });

export type ArrivalEvent =
  /** @property key of the object; absent of a schedule */
  | { readonly kind: 'wake'; readonly wake: Wake; readonly key?: string }
  | { readonly kind: 'declaration'; readonly pipeline: string }
  /** Of a check of the deployment (cli/check.ts). */
  | { readonly kind: 'testObject'; readonly id: string }
  | { readonly kind: 'ignored'; readonly reason: string }
  /** Goes to the dead letters, where an alarm finds it. */
  | { readonly kind: 'malformed' };

/** @param body of one SQS message. It may hold several records, although S3 sends one. */
export function readArrivals(body: string): readonly ArrivalEvent[] {
  const message = parseJson(body);
  if (message === undefined) return [{ kind: 'malformed' }];
  const notified = notification.safeParse(message);
  if (notified.success) return notified.data.Records.map(readRecord);
  const schedule = scheduled.safeParse(message);
  if (schedule.success) {
    return [{ kind: 'wake', wake: { pipeline: schedule.data.schedule.pipeline, trigger: 'schedule' } }];
  }
  const event = objectEvent.safeParse(message);
  if (event.success) {
    const { detail, time, 'detail-type': type } = event.data;
    return [
      readKey(detail.object.key, time, type === 'Object Created' ? 'ObjectCreated:*' : 'ObjectRemoved:*'),
    ];
  }
  const reason = testEvent.safeParse(message).success
    ? "S3's test of the queue"
    : 'neither a notification of S3 nor a schedule';
  return [{ kind: 'ignored', reason }];
}

function readRecord({ eventName, eventTime, s3 }: NotificationRecord): ArrivalEvent {
  const key = decodeKey(s3.object.key);
  if (key === undefined) return { kind: 'ignored', reason: `${s3.object.key} is not URL-encoded` };
  return readKey(key, eventTime, eventName);
}

function readKey(key: string, eventTime: Date, eventName: string): ArrivalEvent {
  const testObject = testObjectId(key);
  if (testObject !== undefined) return { kind: 'testObject', id: testObject };
  const declared = key.startsWith(PIPELINES_PREFIX) ? key.slice(PIPELINES_PREFIX.length) : undefined;
  const isDeclaration = declared?.endsWith('.yaml') === true;
  const name = isDeclaration ? declared.slice(0, -'.yaml'.length) : pipelineOfArrival(key);
  if (name === undefined) return { kind: 'ignored', reason: `${key} lies under no incoming prefix` };
  const named = pipelineName.safeParse(name);
  if (!named.success) return { kind: 'ignored', reason: `${key}: "${name}" cannot name a pipeline` };
  const pipeline = named.data;
  // Its deletion too: the bucket says whether it is there.
  if (isDeclaration) return { kind: 'declaration', pipeline };
  if (!eventName.startsWith('ObjectCreated:'))
    return { kind: 'ignored', reason: `${eventName} is no arrival` };
  return { kind: 'wake', wake: { pipeline, trigger: 'arrival', eventTime }, key };
}

/**
 * Thousands of arrivals of one pipeline are one wake: the newest event decides whether it wakes anything.
 * @returns the index of the wake that stands for each pipeline
 */
export function newestWakes(arrivals: readonly ArrivalEvent[]): ReadonlySet<number> {
  const newest = new Map<string, { index: number; time: number }>();
  arrivals.forEach((arrival, index) => {
    if (arrival.kind !== 'wake') return;
    const { pipeline, trigger, eventTime } = arrival.wake;
    const name = `${trigger}/${pipeline}`;
    const time = eventTime?.getTime() ?? Number.POSITIVE_INFINITY;
    if (time >= (newest.get(name)?.time ?? Number.NEGATIVE_INFINITY)) newest.set(name, { index, time });
  });
  return new Set([...newest.values()].map(({ index }) => index));
}

/** Notifications encode keys as forms do: a space is a plus. */
function decodeKey(encoded: string): string | undefined {
  try {
    return decodeURIComponent(encoded.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
