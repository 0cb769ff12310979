/** The Settle state: look at the incoming prefix, decide, and close the batch when it is complete. */

import { createHash, type Hash } from 'node:crypto';
import { bucketKeys, runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { type Pipeline, withParts } from '@tidewheel/declaration/pipeline.ts';
import { checkDeclaration } from '@tidewheel/declaration/read.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { InvalidPipelineError, RunNotFoundError, UnreadableRecordError } from '@tidewheel/kit/errors.ts';
import type { ListedObject, ObjectStore } from '@tidewheel/kit/object-store.ts';
import * as z from 'zod';
import type { PipelineRecord } from '../../records/batches.ts';
import { type KeptClose, keepClose, keptClose } from '../../records/record-copies.ts';
import { closedRequest } from '../../records/requests.ts';
import type { RunRecord, RunRequest } from '../../records/run-records.ts';
import type { Stores } from '../../records/stores.ts';
import { isDrawing, startModelOf, startText } from '../models/start-model.ts';
import { type Allowed, onlyAllowed, readAllowedStored } from './allowed.ts';
import { type ArchiveWork, ListedArchives } from './archives.ts';
import { closeAgain } from './close-again.ts';
import { codeStateOf } from './code-change.ts';
import { FEW_OBJECTS, listsNotified, notifiedAfterClose } from './notified.ts';
import { noteRequest } from './request-run.ts';

export interface SettleDeps extends Pick<Stores, 'pipelines' | 'runs' | 'timeline' | 'models'> {
  readonly allowed: Allowed;
  readonly store: ObjectStore;
  readonly clock: Clock;
}

export type Settled =
  /** @property until when to look again, ISO 8601: a Wait takes whole seconds only, but a moment to the millisecond */
  | { readonly kind: 'wait'; readonly until: string; readonly observation: IncomingLook | null }
  /** Archives are unpacked before the batch is closed. */
  | { readonly kind: 'unpack'; readonly work: ArchiveWork; readonly observation: IncomingLook }
  /** A person stops the run. */
  | { readonly kind: 'stopped' }
  /** The run has packed before and a person has it go on, or it is a probe, which packs nothing. */
  | { readonly kind: 'packed'; readonly draws: boolean }
  | {
      readonly kind: 'settled';
      /** Whether the run trains even if it brings no new data. */
      readonly trainAnyway: boolean;
      /** Whether it trains on a part of its dataset. */
      readonly draws: boolean;
    };

interface Closing {
  /** As it is stored. */
  readonly declaration: Pipeline;
  readonly pipeline: PipelineRecord | undefined;
  /** Undefined where the folder was not listed. */
  readonly observation: IncomingLook | undefined;
  readonly reason: Extract<ReturnType<typeof decideSettled>, { kind: 'settled' }>['reason'];
}

/** How often a run looks whether the one before it has sealed its generation. */
const PREDECESSOR_PAUSE_SECONDS = 10;

/**
 * @param observation what the look before this one saw
 * @throws InvalidPipelineError when the declaration in the bucket cannot be used
 */
export async function settleRun(
  deps: SettleDeps,
  input: { readonly runId: string; readonly observation?: IncomingLook | undefined },
): Promise<Settled> {
  const run = await deps.runs.get(input.runId);
  if (run === undefined) throw new RunNotFoundError(input.runId);
  // A run that packs goes on until its seal, so that each arrival is packed once.
  if (run.stop !== undefined && run.status !== 'packing') return { kind: 'stopped' };
  if (packsNothing(run)) return { kind: 'packed', draws: isDrawing(run, run.declaration) };
  if (run.closedAt !== undefined && run.declaration)
    return settled(run, run.declaration, await keptClose(deps.store, run));

  if (await isPacking(deps, run)) {
    // What this run may pack is what its predecessor did not seal: it has to know.
    const until = secondsAfter(deps.clock.now(), PREDECESSOR_PAUSE_SECONDS);
    return { kind: 'wait', until, observation: input.observation ?? null };
  }
  const kept = await keptClose(deps.store, run);
  if (kept !== undefined) return settled(await closeAgain(deps, run, kept), kept.declaration, kept);
  const declaration = await declarationOf(deps, run.pipeline);
  const pipeline = await deps.pipelines.get(run.pipeline);
  const now = deps.clock.now();
  if (pipeline !== undefined && listsNotified(pipeline, run, { declaration, now }))
    return settleByNotifications(deps, run, { declaration, pipeline });
  return settleByListing(deps, run, { declaration, pipeline, previous: input.observation });
}

/** A probe takes no arrivals. */
const packsNothing = ({ retry, probe }: RunRecord): boolean => retry !== undefined || probe !== undefined;

/** @param previous what the look before this one saw */
async function settleByListing(
  deps: SettleDeps,
  run: RunRecord,
  {
    declaration,
    pipeline,
    previous,
  }: Pick<Closing, 'declaration' | 'pipeline'> & {
    readonly previous: IncomingLook | undefined;
  },
): Promise<Settled> {
  const now = deps.clock.now();
  const { settle } = declaration;
  const firstLook = previous === undefined && (await firstLookAt(deps, run, settle));
  if (firstLook) return { kind: 'wait', until: firstLook, observation: null };
  const prefix = bucketKeys.incoming(run.pipeline);
  const lastClose = pipeline?.closedAt;
  const archives = new ListedArchives(declaration);
  const observation = await lookAtIncoming(archives.seen(deps.store.list(prefix)), {
    prefix,
    marker: settle.marker,
    markerSince: lastClose === undefined ? undefined : new Date(lastClose),
    now,
    newestEventAt: run.newestEventAt,
    previous,
  });
  const decision = decideSettled(observation, settle, { now, openedAt: new Date(run.createdAt) });
  if (decision.kind === 'wait')
    return { kind: 'wait', until: secondsAfter(now, decision.seconds), observation };

  const work = await archives.waiting(deps.store);
  if (work !== undefined) return { kind: 'unpack', work, observation };
  return close(deps, run, { declaration, pipeline, observation, reason: decision.reason });
}

/** Nothing is listed: the batch is quiet when no notification was of late, and none came of late. */
async function settleByNotifications(
  deps: SettleDeps,
  run: RunRecord,
  { declaration, pipeline }: Pick<Closing, 'declaration'> & { readonly pipeline: PipelineRecord },
): Promise<Settled> {
  const now = deps.clock.now();
  const times = [run.createdAt, run.updatedAt, run.newestEventAt ?? run.createdAt].map((at) =>
    Date.parse(at),
  );
  const newest = new Date(Math.min(now.getTime(), Math.max(...times)));
  const decision = decideSettled(
    { marker: false, unchangedSince: newest.toISOString() },
    declaration.settle,
    { now, openedAt: new Date(run.createdAt) },
  );
  if (decision.kind === 'wait')
    return { kind: 'wait', until: secondsAfter(now, decision.seconds), observation: null };
  return close(deps, run, { declaration, pipeline, observation: undefined, reason: decision.reason });
}

async function close(
  deps: SettleDeps,
  run: RunRecord,
  { declaration: declared, pipeline, observation, reason }: Closing,
): Promise<Settled> {
  const at = deps.clock.now().toISOString();
  const seen = observation?.fingerprint;
  const declaration = requestedDeclaration(deps, declared, run.request);
  const request = run.request && closedRequest(run.request);
  await noteRequest(deps, run);
  // The copy comes first: the plan of a closed batch must never outlive what the close decided.
  const byMarker = reason === 'marker';
  const code = await codeStateOf(deps, run, { declaration: declared, byMarker });
  const look = observation && { objects: observation.objects, isDated: isDatedLook(observation) };
  const notified = notifiedAfterClose(pipeline?.notified, { declaration, objects: look?.objects, at });
  const startedFrom = await startModelOf(deps, run, declaration);
  const decided = { declaration, seen, notified, request, startedFrom };
  await keepClose(deps.store, run, { closedAt: at, look, ...decided, ...code });
  const closed = await deps.runs.closeBatch(run, { at, ...decided, source: request?.source });
  await deps.timeline.add(run.runId, {
    id: 'settled',
    at: closed.closedAt ?? at,
    kind: 'Settled',
    text: `${lookText(observation)} (${reason})${code.trainsCode ? '; the source or the training is new' : ''}`,
  });
  const { startFrom = 'none' } = declaration.training;
  if (startFrom !== 'none')
    await deps.timeline.add(run.runId, {
      id: 'starts-from',
      at: closed.closedAt ?? at,
      kind: 'StartsFrom',
      text: startText(startFrom, closed.startedFrom),
    });
  // The record as it was at the close: a user may have requested a model meanwhile.
  return settled(closed, declaration, code);
}

const lookText = (observation: IncomingLook | undefined): string =>
  observation === undefined
    ? 'a large folder, listed around what was notified of'
    : `${observation.objects} object${observation.objects === 1 ? '' : 's'}, ${observation.bytes} bytes`;

/**
 * An arrival began the run, so the batch cannot be quiet before the settle window has passed. A large folder is not
 * listed until then, unless a look has to find the marker, or when an object came that S3 does not date.
 * @returns undefined to look now
 */
async function firstLookAt(
  { store, clock }: SettleDeps,
  { pipeline, batch, trigger, createdAt }: RunRecord,
  { marker, quietSeconds, maximumWaitSeconds }: Pipeline['settle'],
): Promise<string | undefined> {
  const at = secondsAfter(new Date(createdAt), Math.min(quietSeconds, maximumWaitSeconds));
  if (trigger !== 'arrival' || marker !== undefined || clock.now() >= new Date(at)) return undefined;
  const before = await keptClose(store, { pipeline, runId: runIdOf(pipeline, batch - 1) });
  const isLarge = before?.look?.isDated === true && before.look.objects > FEW_OBJECTS;
  return isLarge ? at : undefined;
}

const secondsAfter = (from: Date, seconds: number): string =>
  new Date(from.getTime() + seconds * 1_000).toISOString();

function settled(
  run: RunRecord,
  declaration: Pipeline,
  close: Pick<KeptClose, 'trainsCode'> | undefined,
): Settled {
  const trainAnyway =
    run.trigger === 'api' ||
    (run.trigger === 'schedule' && declaration.trainWithoutNewData) ||
    close?.trainsCode === true;
  return { kind: 'settled', trainAnyway, draws: isDrawing(run, declaration) };
}

async function declarationOf({ store, allowed }: SettleDeps, pipeline: string): Promise<Pipeline> {
  const key = bucketKeys.pipeline(pipeline);
  const stored = await store.readText(key);
  if (stored === undefined) {
    throw new InvalidPipelineError(pipeline, [
      { path: '', message: `${key} is gone from the bucket, put it back` },
    ]);
  }
  const declaration = readAllowedStored({ allowed, bucket: store.bucket }, pipeline, stored.text);
  if (!declaration.valid) throw new InvalidPipelineError(pipeline, declaration.problems);
  return declaration.pipeline;
}

function unlessReadable(error: unknown): 'unreadable' {
  if (error instanceof UnreadableRecordError) return 'unreadable';
  throw error;
}

/** A run that failed before it settled did not look at other runs: behind it an older one may still pack. */
async function isPacking({ runs, store }: SettleDeps, run: RunRecord): Promise<boolean> {
  for (let batch = run.batch - 1; batch >= 1; batch -= 1) {
    const runId = runIdOf(run.pipeline, batch);
    const before = await runs.get(runId).catch(unlessReadable);
    // Its report tells whether it has ended.
    if (before === 'unreadable')
      return (await store.readText(bucketKeys.report(run.pipeline, runId))) === undefined;
    if (before === undefined) return false;
    if (before.status === 'settling' || before.status === 'packing') return true;
    if (before.declaration !== undefined) return false;
  }
  return false;
}

/**
 * @param declared as it is stored at the close
 * @throws InvalidPipelineError where the rest of the declaration has changed since the request and does not fit its parts
 */
function requestedDeclaration(
  { allowed, store }: { readonly allowed: Allowed; readonly store: Pick<ObjectStore, 'bucket'> },
  declared: Pipeline,
  request: RunRequest | undefined,
): Pipeline {
  if (request?.parts === undefined) return declared;
  const declaration = onlyAllowed(
    { allowed, bucket: store.bucket },
    checkDeclaration(declared.name, withParts(declared, request.parts)),
  );
  if (!declaration.valid) throw new InvalidPipelineError(declared.name, declaration.problems);
  return declaration.pipeline;
}

// When a batch of arrivals is complete: decided from what is in the bucket, never from events.

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

type SettleDecision =
  | { readonly kind: 'settled'; readonly reason: 'quiet' | 'marker' | 'maximumWait' }
  | { readonly kind: 'wait'; readonly seconds: number };

interface LookOptions {
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
const isDatedLook = ({ undated }: IncomingLook): boolean => undated === NONE;

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

function decideSettled(
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
