import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { list } from '@tidewheel/kit/fields.ts';
import {
  blobVersions,
  type DatasetVersion,
  listGenerations,
  newestVersion,
  readVersion,
} from '@tidewheel/packing/dataset.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import { parse } from 'yaml';
import * as z from 'zod';
import { noPipeline, ok } from '../shared/answers.ts';
import { generation, generationView } from '../shared/generations.ts';
import { defineOperation, READS } from '../shared/operation.ts';

const MOST_VERSIONS = 100;

const datasetVersion = z.object({
  number: z.number().int(),
  kind: z.enum(['sealed', 'compacted', 'pruned', 'restored']),
  changed: list(z.string()).describe('The generations that the change is about.'),
  generations: list(z.string()).describe('What the version is made of, oldest first.'),
});

export const getDataset = defineOperation(
  {
    ...READS,
    route: 'GET /pipelines/{name}/dataset',
    id: 'getDataset',
    summary: 'Lists the versions and generations of a dataset.',
    answer: z.object({
      pinned: z.string().optional().describe('The generation that the declaration pins.'),
      newest: z
        .number()
        .int()
        .optional()
        .describe('Number of the newest version; absent while nothing is sealed.'),
      versions: list(datasetVersion).describe('Newest first, at most 100.'),
      generations: list(generation).describe('Newest first.'),
    }),
    refusals: [404],
  },
  async ({ store, blobs: open }, { parameters: { name } }) => {
    const declaration = await store.readText(bucketKeys.pipeline(name));
    const blobs = await open();
    const newest = await newestVersion(blobVersions(blobs), name);
    const generations = await listGenerations(blobs, name);
    if (declaration === undefined && generations.length === 0) return noPipeline(name);
    return ok({
      pinned: pinIn(declaration?.text),
      newest: newest?.number,
      versions: await versionsOf(blobs, name, newest),
      generations: generations.toReversed().map((each) => generationView(each, newest)),
    });
  },
);

/** Its other parts may be invalid. */
const pinned = z.object({ dataset: z.object({ pin: z.string().optional() }).optional() });

function pinIn(text: string | undefined): string | undefined {
  try {
    return pinned.safeParse(parse(text ?? '')).data?.dataset?.pin;
  } catch {
    return undefined;
  }
}

async function versionsOf(
  blobs: BlobStore,
  pipeline: string,
  newest: DatasetVersion | undefined,
): Promise<z.input<typeof datasetVersion>[]> {
  const last = newest?.number ?? 0;
  const numbers = Array.from({ length: Math.min(last, MOST_VERSIONS) }, (_, place) => last - place);
  const all = await Promise.all(numbers.map((number) => readVersion(blobVersions(blobs), pipeline, number)));
  return all.map(({ number, change, generations }) => ({
    number,
    kind: change.kind,
    changed: 'generation' in change ? [change.generation] : change.generations,
    generations,
  }));
}
