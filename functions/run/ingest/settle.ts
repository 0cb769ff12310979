/**
 * When a batch of arrivals is complete: decided from what is in the bucket, never from events. The waiting times and
 * their defaults are declared in `../pipeline/pipeline.ts`.
 */

import { createHash, type Hash } from 'node:crypto';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { ListedObject } from '@tidewheel/kit/object-store.ts';
import * as z from 'zod';

/** What one look at the incoming prefix saw. Small: it travels through the state machine from look to look. */
export const incomingLookSchema = z.object({
  objects: z.number(),
  bytes: z.number(),
  /** Changes whenever an object appears, changes or goes. */
  fingerprint: z.string(),
  marker: z.boolean(),
  /** The fingerprint of those objects whose arrival S3 does not date. */
  undated: z.string(),
  /** Since when the fingerprint has been this one, ISO 8601. */
  unchangedSince: z.string(),
});
export type IncomingLook = Readonly<z.output<typeof incomingLookSchema>>;

export type SettleDecision =
  | { readonly kind: 'settled'; readonly reason: 'quiet' | 'marker' | 'maximumWait' }
  | { readonly kind: 'wait'; readonly seconds: number };

export interface LookOptions {
  readonly prefix: string;
  readonly marker?: string | undefined;
  /** A marker older than this belongs to the batch before: it is left lying, never deleted by us. */
  readonly markerSince?: Date | undefined;
  readonly now: Date;
  /** ISO 8601, of the newest arrival that an event has reported: to the millisecond. */
  readonly newestEventAt?: string | undefined;
  readonly previous?: IncomingLook | undefined;
}

/** Reads a listing once, in order, in constant memory. */
export async function lookAtIncoming(
  listing: AsyncIterable<ListedObject>,
  options: LookOptions,
): Promise<IncomingLook> {
  const [all, undated] = [createHash('sha256'), createHash('sha256')];
  let [objects, bytes, newest] = [0, 0, Number.NEGATIVE_INFINITY];
  let marker = false;
  const event = options.newestEventAt === undefined ? Number.NaN : Date.parse(options.newestEventAt);
  for await (const object of listing) {
    const { key, size, etag, lastModified } = object;
    if (options.marker !== undefined && key === options.prefix + options.marker) {
      marker = options.markerSince === undefined || lastModified >= options.markerSince;
    } else {
      objects += 1;
      bytes += size;
    }
    all.update(`${key}\n${etag}\n`);
    if (isDated(object)) newest = Math.max(newest, arrivedBy(lastModified, event));
    else undated.update(`${key}\n${etag}\n`);
  }
  const now = { fingerprint: digestOf(all), undated: digestOf(undated) };
  const unchangedSince = sinceWhen(now, newest, options);
  return { objects, bytes, ...now, marker, unchangedSince: unchangedSince.toISOString() };
}

const digestOf = (hash: Hash): string => hash.digest('hex').slice(0, 32);
const NONE = digestOf(createHash('sha256'));

/** Whether S3 dates the arrival of every object. */
export const isDatedLook = ({ undated }: IncomingLook): boolean => undated === NONE;

/** Up to this many objects are listed for $0.0005, an hourly look costs $0.36 a month. */
export const FEW_OBJECTS = 100_000;

/** SDKs and the AWS CLI send larger objects in parts by default. */
const ONE_PART_BYTES = 8 * 2 ** 20;
/**
 * S3 cuts LastModified down to whole seconds, so the arrival may be a second later. Other servers date more exactly, and
 * so does the event of the same second.
 * @param event milliseconds since 1970; NaN if there is none
 */
function arrivedBy(lastModified: Date, event: number): number {
  const listed = lastModified.getTime();
  if (lastModified.getMilliseconds() !== 0) return listed;
  const secondsEnd = listed + 1_000;
  return event >= listed && event < secondsEnd ? event : secondsEnd;
}

/**
 * S3 dates a multipart upload from its start, so a large object can appear with a time far in the past. The ETag of an
 * upload in parts ends in their number. https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingMetadata.html
 */
const isDated = ({ size, etag }: ListedObject): boolean => size <= ONE_PART_BYTES && !etag.includes('-');

/**
 * Where S3 dates every change since the look before, quiet begins with the newest; otherwise with this look.
 * @param newest milliseconds since 1970 by which the newest dated object had arrived
 */
function sinceWhen(
  { fingerprint, undated }: Pick<IncomingLook, 'fingerprint' | 'undated'>,
  newest: number,
  { previous, now }: LookOptions,
): Date {
  if (previous?.fingerprint === fingerprint) return new Date(previous.unchangedSince);
  const isDatedChange =
    undated === (previous?.undated ?? NONE) &&
    newest > (previous === undefined ? Number.NEGATIVE_INFINITY : Date.parse(previous.unchangedSince));
  return isDatedChange ? new Date(Math.min(now.getTime(), newest)) : now;
}

/** The clocks of Lambda and Step Functions differ by milliseconds. */
const LEAST_PAUSE_SECONDS = 0.1;
/** A marker should not go unnoticed for long … */
const USUAL_PAUSE_SECONDS = 60;
/** … but a look writes ten events, and an execution ends at 25,000. */
const MOST_LOOKS = 500;

export function decideSettled(
  observation: Pick<IncomingLook, 'marker' | 'unchangedSince'>,
  settle: Pipeline['settle'],
  at: { readonly now: Date; readonly openedAt: Date },
): SettleDecision {
  const waited = secondsBetween(at.openedAt, at.now);
  const quiet = secondsBetween(new Date(observation.unchangedSince), at.now);
  if (observation.marker) return { kind: 'settled', reason: 'marker' };
  if (quiet >= settle.quietSeconds) return { kind: 'settled', reason: 'quiet' };
  if (waited >= settle.maximumWaitSeconds) return { kind: 'settled', reason: 'maximumWait' };
  const longestPause = Math.max(USUAL_PAUSE_SECONDS, Math.ceil(settle.maximumWaitSeconds / MOST_LOOKS));
  const remaining = Math.min(settle.quietSeconds - quiet, settle.maximumWaitSeconds - waited);
  return { kind: 'wait', seconds: Math.min(longestPause, Math.max(LEAST_PAUSE_SECONDS, remaining)) };
}

const secondsBetween = (from: Date, to: Date) => (to.getTime() - from.getTime()) / 1000;
