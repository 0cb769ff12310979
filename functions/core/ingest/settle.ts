/**
 * When a batch of arrivals is complete: decided from what is in the bucket, never from events. The waiting times and
 * their defaults are declared in `../pipeline/settle.ts`.
 */
import { createHash } from 'node:crypto';
import type { Pipeline } from '../pipeline/pipeline.ts';
import type { ListedObject } from '../shared/ports.ts';

/** What one look at the incoming prefix saw. Small: it travels through the state machine from look to look. */
export interface IncomingLook {
  readonly objects: number;
  readonly bytes: number;
  /** Changes whenever an object appears, changes or goes. */
  readonly fingerprint: string;
  readonly marker: boolean;
  /** Since when the fingerprint has been this one, ISO 8601. */
  readonly unchangedSince: string;
}

export type SettleDecision =
  | { readonly kind: 'settled'; readonly reason: 'quiet' | 'marker' | 'maximumWait' }
  | { readonly kind: 'wait'; readonly seconds: number };

export interface LookOptions {
  readonly prefix: string;
  readonly marker?: string | undefined;
  /** A marker older than this belongs to the batch before: it is left lying, never deleted by us. */
  readonly markerSince?: Date | undefined;
  readonly now: Date;
  readonly previous?: IncomingLook | undefined;
}

/** Reads a listing once, in order, in constant memory. */
export async function lookAtIncoming(
  listing: AsyncIterable<ListedObject>,
  options: LookOptions,
): Promise<IncomingLook> {
  const hash = createHash('sha256');
  let objects = 0;
  let bytes = 0;
  let marker = false;
  for await (const { key, size, etag, lastModified } of listing) {
    if (options.marker !== undefined && key === options.prefix + options.marker) {
      marker = options.markerSince === undefined || lastModified >= options.markerSince;
    } else {
      objects += 1;
      bytes += size;
    }
    hash.update(`${key}\n${etag}\n`);
  }
  const fingerprint = hash.digest('hex').slice(0, 32);
  const unchangedSince =
    options.previous?.fingerprint === fingerprint
      ? options.previous.unchangedSince
      : options.now.toISOString();
  return { objects, bytes, fingerprint, marker, unchangedSince };
}

/** A marker should not go unnoticed for long … */
const USUAL_PAUSE_SECONDS = 60;
/** … but a look writes ten events, and an execution ends at 25,000. */
const MOST_LOOKS = 500;

/**
 * Quiet is measured from our own first look at the present state, not from LastModified: S3 dates a multipart
 * upload from its start, so a large object can appear with a time far in the past.
 * https://docs.aws.amazon.com/AmazonS3/latest/userguide/UsingMetadata.html
 */
export function decideSettled(
  observation: IncomingLook,
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
  return { kind: 'wait', seconds: Math.min(longestPause, Math.max(1, Math.ceil(remaining))) };
}

const secondsBetween = (from: Date, to: Date) => (to.getTime() - from.getTime()) / 1000;
