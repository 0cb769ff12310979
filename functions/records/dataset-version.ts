/** Chooses the version of the dataset that a run reads, and records it so that a prune keeps it. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { LaunchRefusedError, TransientError } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import {
  batchOf,
  type DatasetVersion,
  newestVersion,
  objectVersions,
  readVersion,
  type VersionStore,
  versionUpTo,
  waitingGenerations,
} from '@tidewheel/packing/dataset.ts';
import type { RunRecord } from './run-records.ts';

/** Most prunes during one launch. */
const MOST_TRIES = 10;

/**
 * Chooses the generations that a run trains on, and records the choice before the run reads.
 * @throws LaunchRefusedError
 */
export async function recordGenerations(store: ObjectStore, run: RunRecord): Promise<readonly string[]> {
  const versions = objectVersions(store);
  for (let tries = 0; tries < MOST_TRIES; tries += 1) {
    const chosen = await generationsFor(store, versions, run);
    const note = `${bucketKeys.reads(run.pipeline, run.runId)}${String(chosen.number).padStart(8, '0')}.json`;
    await store.writeText(note, JSON.stringify({ generations: chosen.generations }));
    const newest = await newestVersion(versions, run.pipeline);
    if (!chosen.generations.some((generation) => newest?.pruned.includes(generation)))
      return chosen.generations;
  }
  throw new TransientError(`the dataset of ${run.pipeline} is being pruned; ${run.runId} tries again`);
}

/** What of a run says which version it reads. */
export type VersionReader = Pick<RunRecord, 'runId' | 'pipeline' | 'batch' | 'declaration'>;

/**
 * What the run would train on, for an estimate: nothing is recorded, and a prune may remove it.
 * @throws LaunchRefusedError
 */
export async function generationsNow(store: ObjectStore, run: VersionReader): Promise<readonly string[]> {
  const { generations } = await generationsFor(store, objectVersions(store), run);
  return generations;
}

interface ChosenVersion {
  /** The version's number; 0 if the dataset has none yet. */
  readonly number: number;
  readonly generations: readonly string[];
}

/** The version that the declaration pins, or else the newest one without a generation of a later batch. */
async function generationsFor(
  store: ObjectStore,
  versions: VersionStore,
  run: VersionReader,
): Promise<ChosenVersion> {
  const { pipeline, batch } = run;
  const pin = run.declaration?.dataset?.pin;
  const newest = await newestVersion(versions, pipeline);
  if (pin === undefined) {
    await checkNothingWaits(store, versions, { run, newest });
    if (newest === undefined) return { number: 0, generations: [] };
    const version = await versionUpTo(versions, pipeline, batch);
    return chosenFrom(version, newest).chosen;
  }
  const number = newest?.added[pin];
  if (newest === undefined || number === undefined || batchOf(pin) > batch) throw unknownPin(store, run, pin);
  const { chosen, gone } = chosenFrom(await readVersion(versions, pipeline, number), newest);
  if (gone.length > 0) throw prunedPin(store, run, gone);
  return chosen;
}

/**
 * The generation that pins the newest version as it is now.
 * @returns undefined where the dataset is empty, or its newest version ends with no generation of its own
 */
export async function pinOfNewest(store: ObjectStore, pipeline: string): Promise<string | undefined> {
  const newest = await newestVersion(objectVersions(store), pipeline);
  return Object.entries(newest?.added ?? {}).find(([, number]) => number === newest?.number)?.[0];
}

/** Splits the generations of a version into those that exist and those that were pruned since. */
function chosenFrom(
  version: DatasetVersion | undefined,
  newest: DatasetVersion,
): { readonly chosen: ChosenVersion; readonly gone: readonly string[] } {
  const all = version?.generations ?? [];
  const isGone = (generation: string): boolean => newest.pruned.includes(generation);
  const generations = all.filter((generation) => !isGone(generation));
  return { chosen: { number: version?.number ?? 0, generations }, gone: all.filter(isGone) };
}

/** Samples that were replaced would train on instead of their corrections. */
async function checkNothingWaits(
  { bucket }: ObjectStore,
  versions: VersionStore,
  { run, newest }: { readonly run: VersionReader; readonly newest: DatasetVersion | undefined },
): Promise<void> {
  const { pipeline, runId, batch } = run;
  const waiting = (await waitingGenerations(versions, pipeline, newest)).filter(
    (name) => batchOf(name) <= batch,
  );
  if (waiting.length === 0) return;
  throw new LaunchRefusedError(
    `${waiting.join(', ')} replaces or removes samples of older generations, and the compaction that does so has failed: correct what DatasetNotCompacted names on the timeline, run tidewheel data compact s3://${bucket}/${pipeline}, then ${runId} again`,
  );
}

const unknownPin = ({ bucket }: ObjectStore, { pipeline, runId }: VersionReader, pin: string) =>
  new LaunchRefusedError(
    `dataset.pin names ${pin}, which is no sealed generation of ${pipeline} up to ${runId}: pin another; tidewheel data list s3://${bucket}/${pipeline} lists them`,
  );

const prunedPin = ({ bucket }: ObjectStore, { pipeline, runId }: VersionReader, gone: readonly string[]) =>
  new LaunchRefusedError(
    `dataset.pin of ${runId} names a version from which ${gone.join(', ')} was pruned: pin another; tidewheel data list s3://${bucket}/${pipeline} lists them`,
  );
