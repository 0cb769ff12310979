/** From a declaration in the bucket to a pipeline on record: its validity, its schedule, and data that came before it. */

import { bucketKeys, PIPELINES_PREFIX } from '@tidewheel/contract/bucket-keys.ts';
import { type Pipeline, pipelineName } from '@tidewheel/declaration/pipeline.ts';
import { pastScheduleProblems, readStored } from '@tidewheel/declaration/read.ts';
import type { Problem } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { RELEASE } from '@tidewheel/kit/stored.ts';
import type { Schedules } from '../../records/ports.ts';
import type { Tell } from '../../records/stores.ts';
import { type Allowed, readAllowedStored } from './allowed.ts';
import { ensurePipeline, type WakeDeps, type Woken, wakeRun } from './wake.ts';

export interface RegisterDeps extends WakeDeps {
  readonly schedules: Schedules;
  readonly allowed: Allowed;
  /** The only arrival that S3 notifies of; absent where it notifies of all. */
  readonly notifiedMarker?: string | undefined;
}

/** What a pipeline's file declares of its instances; undefined for a missing or invalid one, which `settle` reports. */
export async function declaredCompute(
  store: Pick<ObjectStore, 'readText'>,
  name: string,
): Promise<Pipeline['compute'] | undefined> {
  const stored = await store.readText(bucketKeys.pipeline(name));
  const declaration = stored && readStored(name, stored.text);
  return declaration?.valid === true ? declaration.pipeline.compute : undefined;
}

export type Registered =
  | { readonly kind: 'valid'; readonly woken?: Woken }
  | { readonly kind: 'invalid'; readonly problems: readonly Problem[] }
  | { readonly kind: 'gone' };

/**
 * Reads the bucket, so a repeated or late event does no harm. The record says "valid" only after the schedule was set:
 * a process that dies in between is made up for by the event, which comes again, and by the sweep.
 */
export async function registerPipeline(deps: RegisterDeps, name: string): Promise<Registered> {
  const stored = await deps.store.readText(bucketKeys.pipeline(name));
  if (stored === undefined) return removePipeline(deps, name);
  const declaration = readAllowedStored({ ...deps, bucket: deps.store.bucket }, name, stored.text);
  const record = await ensurePipeline(deps, name);
  const problems = declaration.valid
    ? await setSchedule(deps.schedules, declaration.pipeline, stored.lastModified)
    : declaration.problems;
  const valid = problems.length === 0;
  await deps.pipelines.setValidity(name, {
    valid,
    problems,
    declarationEtag: stored.etag,
    checkedBy: RELEASE,
    isScheduled: declaration.valid && valid && declaration.pipeline.schedule !== undefined,
    updatedAt: deps.clock.now().toISOString(),
  });
  if (!valid) return { kind: 'invalid', problems };
  // Data that came before the declaration, or that a run with a bad one could not settle.
  if (record.seen === undefined && (await holdsAnything(deps.store, bucketKeys.incoming(name)))) {
    const { openBatch } = record;
    return { kind: 'valid', woken: await wakeRun(deps, { pipeline: name, trigger: 'arrival', openBatch }) };
  }
  return { kind: 'valid' };
}

/**
 * Pipelines whose record does not say what the bucket says: events of these were lost, or the table was. Those that another
 * release has checked, or whose schedule has gone with a stack, are checked again.
 */
export async function outdatedPipelines({
  pipelines,
  schedules,
  store,
}: Pick<RegisterDeps, 'pipelines' | 'schedules' | 'store'>): Promise<readonly string[]> {
  const recorded = new Map<string, string | undefined>();
  for (const { name, declarationEtag, checkedBy, isScheduled = false } of await pipelines.list()) {
    const isGone = isScheduled && !(await schedules.has(name));
    recorded.set(name, checkedBy !== RELEASE || isGone ? undefined : declarationEtag);
  }
  const outdated: string[] = [];
  for await (const { name, etag } of declaredPipelines(store)) {
    if (recorded.get(name) !== etag) outdated.push(name);
    recorded.delete(name);
  }
  // The remaining records have no declaration.
  return [...outdated, ...recorded.keys()];
}

/** Other files may lie beside the declarations. */
async function* declaredPipelines(store: ObjectStore) {
  for await (const object of store.list(PIPELINES_PREFIX)) {
    const named = pipelineName.safeParse(object.key.slice(PIPELINES_PREFIX.length).replace(/\.yaml$/, ''));
    if (named.success && object.key === bucketKeys.pipeline(named.data))
      yield { ...object, name: named.data };
  }
}

/** An event may take minutes. */
const LOST_SECONDS = 300;

/** Pipelines of the bucket, where the table has none at all: who looks at lists and alarms should know soon. */
export async function lostPipelines({
  pipelines,
  store,
  clock,
}: Pick<RegisterDeps, 'pipelines' | 'store' | 'clock'>): Promise<string[]> {
  let isUnreadable = false;
  const tell: Tell = () => {
    isUnreadable = true;
  };
  if ((await pipelines.list({ limit: 1, tell })).length > 0 || isUnreadable) return [];
  const lost: string[] = [];
  const since = clock.now().getTime() - LOST_SECONDS * 1_000;
  for await (const { name, lastModified } of declaredPipelines(store))
    if (lastModified.getTime() < since) lost.push(name);
  return lost;
}

/** Its runs continue with the declaration that each of them has pinned, and its data stays. */
async function removePipeline(deps: RegisterDeps, name: string): Promise<Registered> {
  await deps.schedules.remove(name);
  await deps.pipelines.remove(name, deps.clock.now().toISOString());
  return { kind: 'gone' };
}

async function setSchedule(
  schedules: Schedules,
  pipeline: Pipeline,
  declaredAt: Date,
): Promise<readonly Problem[]> {
  const { name, schedule } = pipeline;
  if (schedule === undefined) {
    await schedules.remove(name);
    return [];
  }
  const past = pastScheduleProblems(pipeline, declaredAt);
  if (past.length > 0) return past;
  const outcome = await schedules.put(name, schedule);
  if (outcome.kind === 'set') return [];
  return [
    { path: 'schedule', message: `is "${schedule}", which EventBridge Scheduler refuses: ${outcome.reason}` },
  ];
}

async function holdsAnything(store: ObjectStore, prefix: string): Promise<boolean> {
  for await (const _ of store.list(prefix)) return true;
  return false;
}
