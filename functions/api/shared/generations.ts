/** Generations of a dataset, as the API shows them. */

import { parseGeneration } from '@tidewheel/contract/bucket-keys.ts';
import { time } from '@tidewheel/kit/fields.ts';
import {
  type DatasetVersion,
  holdsNothing,
  type Manifest,
  ManifestError,
  readSealedManifest,
} from '@tidewheel/packing/dataset.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import * as z from 'zod';
import { problem } from './answers.ts';

export const generation = z.object({
  name: z.string(),
  state: z
    .enum(['sealed', 'replaced', 'pruned', 'rejectionsOnly', 'damaged'])
    .describe('damaged: its manifest cannot be read.'),
  problem: z.string().optional().describe('Why it is damaged.'),
  listedAt: time.optional(),
  format: z.string().optional(),
  shards: z.number().int().optional(),
  samples: z.number().int().optional(),
  repeated: z
    .number()
    .int()
    .optional()
    .describe('Copies among the samples, which even out counts or classes.'),
  bytes: z.number().int().optional(),
  packed: z.number().int().optional().describe('Arrivals that its shards hold.'),
  rejected: z.number().int().optional(),
});

type GenerationView = z.input<typeof generation>;

export function generationView(
  manifest: Manifest | ManifestError,
  newest: DatasetVersion | undefined,
): GenerationView {
  if (manifest instanceof ManifestError)
    return { name: manifest.generation, state: 'damaged', problem: manifest.message };
  return generation.parse({
    ...manifest,
    name: manifest.generation,
    state: stateOf(manifest, newest),
    shards: manifest.shards.length,
    packed: manifest.arrivals.packed,
    rejected: manifest.arrivals.rejected,
  });
}

function stateOf(manifest: Manifest, newest: DatasetVersion | undefined): GenerationView['state'] {
  const { generation, pruned } = manifest;
  if (pruned === true || newest?.pruned.includes(generation)) return 'pruned';
  if (newest?.replaced.includes(generation)) return 'replaced';
  return holdsNothing(manifest) ? 'rejectionsOnly' : 'sealed';
}

const noGeneration = (pipeline: string, generation: string) =>
  problem(
    404,
    `${pipeline} has no generation "${generation}": GET /pipelines/${pipeline}/dataset lists them`,
  );

export interface FoundGeneration {
  readonly name: string;
  readonly manifest: Manifest;
}

/** A name that is none of a generation is not looked for. */
export async function findGeneration(
  blobs: BlobStore,
  { name, generation }: { readonly name: string; readonly generation: string },
): Promise<FoundGeneration | ReturnType<typeof problem>> {
  if (parseGeneration(generation)?.pipeline !== name) return noGeneration(name, generation);
  try {
    const manifest = await readSealedManifest(blobs, name, generation);
    return manifest === undefined ? noGeneration(name, generation) : { name, manifest };
  } catch (error: unknown) {
    if (error instanceof ManifestError) return problem(409, error.message);
    throw error;
  }
}
