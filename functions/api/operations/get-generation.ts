import { list } from '@tidewheel/kit/fields.ts';
import {
  blobVersions,
  DocumentError,
  memberLines,
  newestVersion,
  packingKeys,
} from '@tidewheel/packing/dataset.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import * as z from 'zod';
import { ok } from '../shared/answers.ts';
import { type FoundGeneration, findGeneration, generation, generationView } from '../shared/generations.ts';
import { defineOperation, READS } from '../shared/operation.ts';

const MOST_SAMPLES = 24;

const classCount = z.object({
  label: z.string(),
  arrived: z.number().int().describe('Samples that came.'),
  sealed: z.number().int().describe('Samples in the shards, copies counted.'),
});

const sample = z.object({
  shard: z.string(),
  member: z.string(),
  key: z.string().optional().describe('The object that it was packed from.'),
  bytes: z.number().int(),
  label: z.string().optional(),
});

export const getGeneration = defineOperation(
  {
    ...READS,
    route: 'GET /pipelines/{name}/dataset/{generation}',
    id: 'getGeneration',
    summary: 'Shows the classes of a generation, what it rejected, and its first samples.',
    answer: z.object({
      generation,
      classes: list(classCount).describe('Empty where the declaration balances no classes.'),
      rejectedByReason: z.record(z.string(), z.number().int()).readonly(),
      rejected: list(z.object({ key: z.string(), reason: z.string() })).describe('At most 100 examples.'),
      samples: list(sample).describe('The first members of the first shard.'),
    }),
    refusals: [404, 409],
  },
  async (deps, { parameters }) => {
    const blobs = await deps.blobs();
    const one = await findGeneration(blobs, parameters);
    if ('status' in one) return one;
    const { name, manifest } = one;
    const newest = await newestVersion(blobVersions(blobs), name);
    const classes = Object.entries(manifest.balance?.classes ?? {}).map(([label, counts]) => ({
      label,
      arrived: counts.samples,
      sealed: counts.sealed ?? counts.planned,
    }));
    return ok({
      generation: generationView(manifest, newest),
      classes,
      rejectedByReason: manifest.rejections.byReason,
      rejected: manifest.rejections.examples.map(({ key, reason }) => ({ key, reason })),
      samples: await samplesOf(blobs, one),
    });
  },
);

/** Those of a pruned generation are gone. */
async function samplesOf(
  blobs: BlobStore,
  { name, manifest }: FoundGeneration,
): Promise<z.input<typeof sample>[]> {
  const [shard] = manifest.shards;
  if (shard === undefined || manifest.pruned === true) return [];
  try {
    const lines = await memberLines(blobs, packingKeys(name, manifest.generation), shard);
    return lines
      .filter(({ made }) => made === undefined)
      .slice(0, MOST_SAMPLES)
      .map(({ name: member, key, size, label }) => ({ shard: shard.name, member, key, bytes: size, label }));
  } catch (error: unknown) {
    if (error instanceof DocumentError) return [];
    throw error;
  }
}
