/** Which generations a run trains on: all that are sealed up to its own, the same for every attempt. */
import * as z from 'zod';
import type { RunRecord } from '../runs/run-records.ts';
import { LaunchRefusedError, StoredVersionError } from '../shared/errors.ts';
import { bucketKeys } from '../shared/keys.ts';
import type { ObjectStore } from '../shared/ports.ts';
import { check } from '../shared/validation.ts';
import { heldGenerations } from './dataset-version.ts';

/** One generation of the dataset, as a training channel sees it. */
export interface GenerationShards {
  /** `bucketKeys.shards(...)`: nothing but shards lies under it. */
  readonly shardsPrefix: string;
  /** Shard names relative to the prefix. */
  readonly shards: readonly string[];
  /** Number and size of all its shards, for choosing the input mode. */
  readonly totals: { readonly shards: number; readonly bytes: number };
}

export interface Dataset {
  /** Oldest first. */
  readonly generations: readonly string[];
  readonly shards: readonly GenerationShards[];
}

/**
 * Shards without a manifest are the remains of a run that did not seal. A run notes what it reads before it reads, and
 * then looks whether that was given up meanwhile: a prune does the same in the opposite order, so one of them notices.
 */
export async function datasetOf(store: ObjectStore, run: RunRecord): Promise<Dataset> {
  const generations = run.generations ?? (await heldGenerations(store, run));
  const shards = await Promise.all(
    generations.map(async (generation): Promise<GenerationShards> => {
      const manifest = await readManifest(store, bucketKeys.manifest(run.pipeline, generation));
      return {
        shardsPrefix: bucketKeys.shards(run.pipeline, generation, manifest.revision),
        shards: manifest.shards.map(({ name }) => name),
        totals: { shards: manifest.shards.length, bytes: sum(manifest.shards.map(({ bytes }) => bytes)) },
      };
    }),
  );
  return { generations, shards };
}

const MANIFEST_VERSION = 1;

/** The part of a generation's manifest that training needs. */
const manifestSchema = z.object({
  version: z.literal(MANIFEST_VERSION),
  revision: z.string().optional(),
  shards: z.array(z.object({ name: z.string().min(1), bytes: z.number().int().min(0) })),
});

/** @throws StoredVersionError, or LaunchRefusedError where the manifest is gone or damaged */
async function readManifest(store: ObjectStore, key: string): Promise<z.output<typeof manifestSchema>> {
  const at = `s3://${store.bucket}/${key}`;
  const document = parse((await store.readText(key))?.text);
  if (document === undefined) throw new LaunchRefusedError(`${at} is gone or no JSON: ${RESTORE}`);
  const checked = check(manifestSchema, document, 'hidden');
  if (checked.ok) return checked.value;
  const version = z.object({ version: z.unknown() }).safeParse(document).data?.version;
  if (version !== MANIFEST_VERSION)
    throw new StoredVersionError(at, { found: version, read: MANIFEST_VERSION });
  const [problem] = checked.problems;
  throw new LaunchRefusedError(`${at} is damaged, ${problem?.path}: ${problem?.message}: ${RESTORE}`);
}

const RESTORE = 'restore an older version of the object, or a copy';

function parse(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Of all shards that the run trains on. */
export async function datasetBytes(store: ObjectStore, run: RunRecord): Promise<number> {
  const { shards } = await datasetOf(store, run);
  return sum(shards.map(({ totals }) => totals.bytes));
}
