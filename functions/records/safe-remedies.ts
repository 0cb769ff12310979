/**
 * The doctor's remedies that the next attempt takes by itself (`doctor.apply: safe`): those that cannot change what is
 * trained. Each kind is tried once, and left out again where it was measured to be worse.
 */

import { instanceFacts } from '@tidewheel/catalog/catalog.ts';
import { launcherFacts } from '@tidewheel/catalog/launchers.ts';
import { runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { type Change, declaredFields } from '@tidewheel/doctor/verdict.ts';
import { noneIfUnreadable } from '@tidewheel/kit/errors.ts';
import type { Placement } from '@tidewheel/placement/records.ts';
import type { AttemptRecord, RunRecord } from './run-records.ts';
import type { Stores } from './stores.ts';

const SAFE: ReadonlySet<Change['kind']> = new Set(['input-mode', 'instance-type']);
/** Measured steps differ from attempt to attempt by less. */
const WORSE = 1.05;

type History = readonly Pick<AttemptRecord, 'placement' | 'applied' | 'diagnosis' | 'outcome'>[];

/** Lists the attempts of the pipeline's run before it, oldest first. */
export const formerAttempts = async (
  { attempts }: Pick<Stores, 'attempts'>,
  { pipeline, batch }: Pick<RunRecord, 'pipeline' | 'batch'>,
): Promise<readonly AttemptRecord[]> =>
  batch > 1 ? ((await attempts.list(runIdOf(pipeline, batch - 1)).catch(noneIfUnreadable)) ?? []) : [];

/**
 * @param own attempts of the run before the one that starts
 * @returns the changes; none where the declaration does not ask for them
 */
export async function safeRemedies(
  stores: Pick<Stores, 'attempts'>,
  run: Pick<RunRecord, 'pipeline' | 'batch' | 'declaration'>,
  own: History,
): Promise<readonly Change[]> {
  const { declaration } = run;
  if (declaration?.doctor?.apply !== 'safe') return [];
  return chooseSafe(declaration, [...(await formerAttempts(stores, run)), ...own]);
}

function chooseSafe(declaration: Pipeline, history: History): readonly Change[] {
  const last = history.findLast(({ diagnosis }) => diagnosis?.speed !== undefined);
  if (last === undefined) return [];
  const tried = new Set(history.flatMap(({ applied = [] }) => applied.map(({ kind }) => kind)));
  const kept = wasWorse(history) ? [] : (last.applied ?? []).filter(({ kind }) => kind !== 'volume');
  const found = (last.diagnosis?.verdicts ?? [])
    .filter(({ gain }) => gain.dollars.low > 0)
    .flatMap(({ remedy }) => remedy?.change ?? [])
    .filter((change) => !tried.has(change.kind) && isSafe(change, declaration, last));
  return [...kept, ...new Map(found.map((change) => [change.kind, change])).values()].filter(
    (change) => !foundNoCapacity(change, history),
  );
}

function isSafe(change: Change, declaration: Pipeline, { placement }: History[number]): boolean {
  if (!SAFE.has(change.kind)) return false;
  if (change.kind !== 'instance-type') return true;
  const [now, then] = [instanceFacts(placement.pool.instanceType), instanceFacts(change.type)];
  return (
    now !== undefined &&
    then !== undefined &&
    now.accelerator === then.accelerator &&
    now.acceleratorCount === then.acceleratorCount &&
    (declaration.compute.instanceTypes ?? []).includes(change.type)
  );
}

/** One type finds capacity less often than the declared ones together. */
const foundNoCapacity = (change: Change, history: History): boolean =>
  change.kind === 'instance-type' &&
  history.some(
    ({ placement, outcome }) =>
      placement.pool.instanceType === change.type &&
      (outcome?.kind === 'capacity' || outcome?.kind === 'interrupted'),
  );

/** Whether the last measured attempt with remedies was slower, or dearer, than the last one without its newest. */
function wasWorse(history: History): boolean {
  const measured = history.filter(({ diagnosis }) => diagnosis?.speed !== undefined);
  const after = measured.at(-1);
  const before = measured.findLast(({ applied = [] }) => applied.length < (after?.applied?.length ?? 0));
  const [was, is] = [before?.diagnosis?.speed, after?.diagnosis?.speed];
  if (was === undefined || is === undefined) return false;
  return was.samplesPerDollar !== undefined && is.samplesPerDollar !== undefined
    ? was.samplesPerDollar > WORSE * is.samplesPerDollar
    : is.stepSeconds.median > WORSE * was.stepSeconds.median;
}

const MOST_GIGABYTES = 16_384;
const LEAST_MORE_GIGABYTES = 100;

/**
 * More disk for an attempt that follows one whose disk was full; once, since a script may fill any. The report and the
 * timeline name it. A SageMaker type with NVMe has no other disk.
 * @param own attempts of the run before the one that starts
 */
export function raisedDisk(
  { compute: { volumeGigabytes } }: Pipeline,
  own: History,
  { pool: { instanceType, launcher } }: Placement,
): readonly Change[] {
  if (
    !launcherFacts[launcher].hasVolume(instanceType) ||
    !own.some(({ outcome }) => outcome?.fault === 'disk')
  )
    return [];
  const wanted = Math.max(2 * volumeGigabytes, volumeGigabytes + LEAST_MORE_GIGABYTES);
  return [{ kind: 'volume', gigabytes: Math.min(MOST_GIGABYTES, wanted) }];
}

/** The declaration with the changes. */
export function withRemedies(declaration: Pipeline, changes: readonly Change[]): Pipeline {
  return changes
    .flatMap((change) => declaredFields(change) ?? [])
    .reduce<Pipeline>((changed, { path: [section, field, ...deeper], value }) => {
      // No safe remedy lies deeper.
      if (deeper.length > 0) return changed;
      if (section === 'training')
        return { ...changed, training: { ...changed.training, [field ?? '']: value } };
      if (section === 'compute') return { ...changed, compute: { ...changed.compute, [field ?? '']: value } };
      return changed;
    }, declaration);
}
