/** A batch of the arrivals queue: each pipeline is woken once, each declaration registered, each failure goes back alone. */

import { hash } from 'node:crypto';
import {
  bucketKeys,
  PIPELINES_PREFIX,
  pipelineOfArrival,
  testObjectId,
} from '@tidewheel/contract/bucket-keys.ts';
import { pipelineName } from '@tidewheel/declaration/pipeline.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { messageOf, problemsText } from '@tidewheel/kit/errors.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import * as z from 'zod';
import type { Stores } from '../../records/stores.ts';
import type { QueueMessage, Taken } from '../queue-messages.ts';
import { type RegisterDeps, registerPipeline } from './register-pipeline.ts';
import { type Wake, wakeRun } from './wake.ts';

type ArrivalDeps = RegisterDeps & Pick<Stores, 'testObjects'>;

/** A batch may hold thousands of messages that are ignored for reasons of their own. */
const MOST_NOTES = 20;

export async function takeArrivals(deps: ArrivalDeps, messages: readonly QueueMessage[]): Promise<Taken> {
  const arrivals = messages.flatMap(({ messageId, body }) =>
    readArrivals(body).map((arrival) => ({ messageId, arrival })),
  );
  const standing = newestWakes(arrivals.map(({ arrival }) => arrival));
  const failed = await noteLargeFolders(deps, arrivals);
  const notes = new Map<string, number>();
  for (const [index, { messageId, arrival }] of arrivals.entries()) {
    if (failed.has(messageId)) continue;
    // A wake that another of this batch stands for goes with it: if that one fails, it is that one that comes back.
    if (arrival.kind === 'wake' && !standing.has(index)) continue;
    try {
      const note = await take(deps, arrival);
      notes.set(note, (notes.get(note) ?? 0) + 1);
    } catch (error: unknown) {
      failed.set(messageId, messageOf(error));
    }
  }
  return {
    failed: [...failed].map(([messageId, reason]) => ({ messageId, reason })),
    notes: [...notes]
      .slice(0, MOST_NOTES)
      .map(([note, times]) => (times > 1 ? `${note} (${times} times)` : note)),
  };
}

interface MessageArrival {
  readonly messageId: string;
  readonly arrival: ArrivalEvent;
}

/** @returns why messages of pipelines whose keys could not be noted come again */
async function noteLargeFolders(
  deps: ArrivalDeps,
  arrivals: readonly MessageArrival[],
): Promise<Map<string, string>> {
  const failed = new Map<string, string>();
  const byPipeline = Map.groupBy(arrivals, ({ arrival }) =>
    arrival.kind === 'wake' && arrival.key !== undefined ? arrival.wake.pipeline : undefined,
  );
  for (const [pipeline, found] of byPipeline) {
    if (pipeline === undefined) continue;
    const keys = found.flatMap(({ arrival }) => ('key' in arrival ? (arrival.key ?? []) : []));
    try {
      const record = await deps.pipelines.get(pipeline);
      if (record?.notified !== undefined) await noteArrivals(deps, pipeline, keys);
    } catch (error: unknown) {
      const reason = messageOf(error);
      for (const { messageId } of found) failed.set(messageId, reason);
    }
  }
  return failed;
}

/** Notes keys before the record says which batch is open: the plan of a closed batch then finds them, or the next does. */
async function noteArrivals(
  { store, clock }: { readonly store: ObjectStore; readonly clock: Clock },
  pipeline: string,
  keys: readonly string[],
): Promise<void> {
  const text = JSON.stringify(keys);
  const name = `${clock.now().toISOString()}-${hash('sha256', text).slice(0, 16)}.json`;
  await store.writeText(`${bucketKeys.notified(pipeline)}${name}`, text);
}

async function take(deps: ArrivalDeps, arrival: ArrivalEvent): Promise<string> {
  switch (arrival.kind) {
    case 'ignored':
      return `ignored: ${arrival.reason}`;
    case 'malformed':
      throw new Error('the message is no JSON');
    case 'declaration': {
      const registered = await registerPipeline(deps, arrival.pipeline);
      const problems = registered.kind === 'invalid' ? registered.problems : [];
      const detail = problemsText(problems);
      return `pipeline ${arrival.pipeline} is ${registered.kind}${detail && ` (${detail})`}`;
    }
    case 'testObject': {
      await deps.testObjects.setTaken(arrival.id, deps.clock.now().toISOString());
      return `test object ${arrival.id}`;
    }
    case 'wake': {
      const woken = await wakeRun(deps, arrival.wake);
      return woken.kind === 'ignored' ? `ignored: ${woken.reason}` : `${woken.runId} is ${woken.kind}`;
    }
  }
}

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

/** What lies in the arrivals queue: S3's events, and the messages of pipelines' schedules. Untrusted until parsed. */
type ArrivalEvent =
  /** @property key of the object; absent of a schedule */
  | { readonly kind: 'wake'; readonly wake: Wake; readonly key?: string }
  | { readonly kind: 'declaration'; readonly pipeline: string }
  /** A check of the deployment wrote it (cli/verbs/check.ts). */
  | { readonly kind: 'testObject'; readonly id: string }
  | { readonly kind: 'ignored'; readonly reason: string }
  /** Goes to the dead letters, where an alarm finds it. */
  | { readonly kind: 'malformed' };

/** @param body of one SQS message. It may hold several records, although S3 sends one. */
function readArrivals(body: string): readonly ArrivalEvent[] {
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
function newestWakes(arrivals: readonly ArrivalEvent[]): ReadonlySet<number> {
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
