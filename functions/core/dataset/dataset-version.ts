/** Which version of the dataset a run reads, and the note of it that keeps a prune away. */

import {
  batchOf,
  type DatasetVersion,
  newestVersion,
  readVersion,
  type VersionStore,
  versionsBeside,
  versionUpTo,
} from '../packing/model/versions.ts';
import type { RunRecord } from '../runs/run-records.ts';
import { LaunchRefusedError, TransientError } from '../shared/errors.ts';
import { bucketKeys, parseRunId } from '../shared/keys.ts';
import type { ObjectStore } from '../shared/ports.ts';

/** As often as somebody may prune while one launch looks. */
const LOOKS = 10;

/** The generations that a run trains on, noted as read. */
export async function heldGenerations(store: ObjectStore, run: RunRecord): Promise<readonly string[]> {
  const versions = versionsBeside(store);
  for (let look = 0; look < LOOKS; look += 1) {
    const chosen = await generationsFor(store, versions, run);
    const note = `${bucketKeys.reads(run.pipeline, run.runId)}${String(chosen.number).padStart(8, '0')}.json`;
    await store.writeText(note, JSON.stringify({ generations: chosen.generations }));
    const newest = await newestVersion(versions, run.pipeline);
    if (!chosen.generations.some((generation) => newest?.givenUp.includes(generation)))
      return chosen.generations;
  }
  throw new TransientError(`the dataset of ${run.pipeline} is being pruned: ${run.runId} looks again`);
}

interface Chosen {
  /** Of the version; 0 where the dataset has none yet. */
  readonly number: number;
  readonly generations: readonly string[];
}

/** The version that the declaration pins, otherwise the newest that holds nothing of later batches. */
async function generationsFor(store: ObjectStore, versions: VersionStore, run: RunRecord): Promise<Chosen> {
  const { pipeline, batch } = run;
  const pin = run.declaration?.dataset?.pin;
  const newest = await newestVersion(versions, pipeline);
  if (newest === undefined) return { number: 0, generations: await unversioned(store, run, pin) };
  if (pin === undefined) {
    const version = await versionUpTo(versions, pipeline, batch);
    return chosenFrom(version, newest).chosen;
  }
  const number = newest.added[pin];
  if (number === undefined || batchOf(pin) > batch) throw unknownPin(store, run, pin);
  const { chosen, gone } = chosenFrom(await readVersion(versions, pipeline, number), newest);
  if (gone.length > 0) throw prunedPin(store, run, gone);
  return chosen;
}

/** What of a version was given up since is not there to be read. */
function chosenFrom(
  version: DatasetVersion | undefined,
  newest: DatasetVersion,
): { readonly chosen: Chosen; readonly gone: readonly string[] } {
  const all = version?.generations ?? [];
  const isGone = (generation: string): boolean => newest.givenUp.includes(generation);
  const generations = all.filter((generation) => !isGone(generation));
  return { chosen: { number: version?.number ?? 0, generations }, gone: all.filter(isGone) };
}

/** Sealed by runs that died before one of them wrote the dataset's first version: the next seal will name them. */
async function unversioned(
  store: ObjectStore,
  run: RunRecord,
  pin: string | undefined,
): Promise<readonly string[]> {
  const pinned = pin === undefined ? Number.POSITIVE_INFINITY : batchOf(pin);
  const generations = await sealedGenerations(store, run.pipeline, Math.min(run.batch, pinned));
  if (pin === undefined || generations.includes(pin)) return generations;
  throw unknownPin(store, run, pin);
}

const unknownPin = ({ bucket }: ObjectStore, { pipeline, runId }: RunRecord, pin: string) =>
  new LaunchRefusedError(
    `dataset.pin names ${pin}, which is no sealed generation of ${pipeline} up to ${runId}: npm run dataset -- list s3://${bucket}/${pipeline} shows them`,
  );

const prunedPin = ({ bucket }: ObjectStore, { pipeline, runId }: RunRecord, gone: readonly string[]) =>
  new LaunchRefusedError(
    `the version that dataset.pin names for ${runId} is not whole, ${gone.join(', ')} is pruned: pin another, npm run dataset -- list s3://${bucket}/${pipeline} shows them`,
  );

/** @param upToBatch generations of later batches are left out: they may appear while this run trains */
export async function sealedGenerations(
  store: ObjectStore,
  pipeline: string,
  upToBatch: number,
): Promise<string[]> {
  const folders = await store.listFolders(bucketKeys.dataset(pipeline));
  const candidates = folders.filter(
    (folder) => (parseRunId(folder)?.batch ?? Number.POSITIVE_INFINITY) <= upToBatch,
  );
  const sealed = await Promise.all(
    candidates.map(
      async (folder) => (await store.readText(bucketKeys.manifest(pipeline, folder))) !== undefined,
    ),
  );
  return candidates.filter((_, index) => sealed[index]).sort();
}
