/** Dots inside names join files to a sample only by words that say what a member is. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { incoming, problems, runOf } from '../../../../test/support/builders/compaction.ts';
import {
  dropped,
  memberLines,
  now,
  PIPELINE,
  packAll,
  planAndPack,
  settings,
} from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { planSchema } from '../../documents/documents.ts';
import { splitKey } from '../../documents/member-names.ts';
import { packingKeys } from '../../documents/packing-keys.ts';
import { planShards } from '../../plan/plan-shards.ts';
import { sealDataset } from '../../seal/seal-dataset.ts';
import { SplitRule } from '../../splits/split-rule.ts';

const SITES = [
  'login/paypal.com.png',
  'login/google.com.png',
  'login/google.de.png',
  'login/amazon.co.uk.png',
  'login/amazon.com.png',
  'other/wikipedia.org.png',
  'other/en.wikipedia.org.png',
  'other/de.wikipedia.org.png',
  'other/bing.com.png',
];
const PEOPLE = ['john.smith.jpg', 'john.doe.jpg', 'Dr.House.jpg', 'Dr.Who.jpg'];

/** The suffixes of each sample of a run. */
function samplesOf(store: MemoryBlobStore, run = runOf(1)): string[] {
  const samples = new Map<number, string[]>();
  for (const { sample, name, made } of memberLines(store, run))
    if (made === undefined)
      samples.set(sample, [...(samples.get(sample) ?? []), name.slice(name.indexOf('.') + 1)]);
  return [...samples.values()].map((suffixes) => suffixes.sort().join(' ')).sort();
}

async function packed(
  keys: readonly string[],
  packing: PackingSettings = settings(),
): Promise<readonly string[]> {
  const store = dropped(keys);
  await packAll(store, packing, runOf(1));
  expect(await problems(store)).toEqual([]);
  return samplesOf(store);
}

/** As earlier releases wrote manifests and plans. */
function forgetRule(store: MemoryBlobStore, key: string): void {
  const document = JSON.parse(store.body(key).toString());
  expect(document.innerSuffixes).toContain('left');
  for (const name of ['innerSuffixes', 'dots', 'labelRule']) Reflect.deleteProperty(document, name);
  store.seed(key, JSON.stringify(document));
}

describe('a word between dots', () => {
  it.each([
    ['sites', SITES, 'png'],
    ['people', PEOPLE, 'jpg'],
    ['versions', ['model.v1.jpg', 'model.v2.jpg', 'model.final.jpg'], 'jpg'],
    ['compressed files', ['john.smith.nii.gz', 'john.doe.nii.gz', 'scan.T1w.nii.gz'], 'nii.gz'],
    ['compressed pages', ['google.com.html.gz', 'google.de.html.gz'], 'html.gz'],
    ['places', ['st.louis.jpg', 'st.paul.jpg', 'mt.fuji.jpg'], 'jpg'],
  ])('belongs to the name of %s', async (_, keys, suffix) => {
    expect(await packed(keys)).toEqual(keys.map(() => suffix));
  });

  it.each<Partial<PackingSettings>>([{ format: 'mds' }, { format: 'tfrecord' }, { format: 'parquet' }])(
    'belongs to the name with %o',
    async (changes) => {
      const store = dropped(SITES);
      const { samples } = await packAll(store, settings(changes), runOf(1));
      expect(samples).toBe(SITES.length);
    },
  );

  it.each([
    ['a stereo pair', ['0.left.png', '0.right.png', '0.cls'], 'cls left.png right.png'],
    ['a mask', ['a.jpg', 'a.seg.png', 'a.json', 'a.Mask.png'], 'jpg json mask.png seg.png'],
    ['a numbered one', ['a.cam0.jpg', 'a.cam_1.jpg'], 'cam0.jpg cam_1.jpg'],
    ['compressed masks', ['a.nii.gz', 'a.seg.nii.gz', 'a.label.NII.GZ'], 'label.nii.gz nii.gz seg.nii.gz'],
    ['a compressed file', ['a.nii.gz', 'a.csv.gz', 'a.jpg'], 'csv.gz jpg nii.gz'],
    ['a note on a file', ['a.jpg', 'a.jpg.json'], 'jpg jpg.json'],
  ])('makes a member of %s', async (_, keys, sample) => {
    expect(await packed(keys)).toEqual([sample]);
  });

  it('makes a member only where it is declared', async () => {
    const packing = settings({ innerSuffixes: ['north', 'south'] });
    const keys = ['a.north.jpg', 'a.south.jpg', 'a.left.jpg'];
    expect(await packed(keys, packing)).toEqual(['jpg', 'north.jpg south.jpg']);
    expect(packingSchema.safeParse({ innerSuffixes: ['North.jpg'] }).success).toBe(false);
  });

  it('is what splits and labels of rows go by', async () => {
    const split = { train: 0.5, validation: 0.5, by: 'key' } as const;
    const annotations = { file: 'labels.csv', key: 'key', label: 'label' };
    const store = dropped(SITES);
    const rows = SITES.map((key) => `${key.slice(0, -'.png'.length)},${key.length}\n`);
    store.seed(`${incoming}labels.csv`, `key,label\n${rows.join('')}`);
    const { rejected } = await packAll(
      store,
      settings({ split, label: 'annotations', annotations }),
      runOf(1),
    );
    expect(rejected).toBe(0);
    const lines = memberLines(store, runOf(1));
    const labels = lines.flatMap(({ made, label = '' }) => (made === 'label' ? [label] : []));
    expect(labels.sort()).toEqual(SITES.map(({ length }) => `${length}`).sort());
    const rule = new SplitRule(split, { innerSuffixes: [] });
    expect(rule.of('login/google.com.png')).toBe(rule.of('login/google.com.json'));
    expect(await problems(store)).toEqual([]);
  });

  it('is reported at the seal, with an example', async () => {
    const store = dropped([
      ...PEOPLE,
      'turn.left.jpg',
      'turn.right.jpg',
      'plain.jpg',
      'frame.0001.jpg',
      'a.nii.gz',
      'john.doe.nii.gz',
    ]);
    const { dots } = await packAll(store, settings(), runOf(1));
    expect(dots).toEqual({
      joined: { objects: 2, example: 'turn.left.jpg' },
      named: { objects: 5, example: 'Dr.House.jpg' },
    });
  });
});

describe('a dataset', () => {
  it('groups a name alike in each drop', async () => {
    const store = new MemoryBlobStore();
    for (const [batch, key] of ['john.smith.jpg', 'john.doe.jpg', 'john.json', 'john.left.jpg'].entries()) {
      dropped([key], store);
      const before = await packAll(store, settings({ require: [] }), runOf(batch + 1));
      expect(before).toMatchObject({ samples: 1, waiting: 0 });
    }
  });

  it('that an earlier release began keeps its samples', async () => {
    const store = dropped(['a.north.jpg', 'a.south.jpg', 'b.jpg']);
    await packAll(store, settings({ innerSuffixes: ['north', 'south', 'left'] }), runOf(1));
    forgetRule(store, bucketKeys.manifest(PIPELINE, runOf(1)));
    dropped(['c.north.jpg', 'c.south.jpg', 'c.json'], store);
    await planShards(
      { store, now },
      { runId: runOf(2), pipeline: PIPELINE, packing: settings(), onChange: 'replace' },
    );
    const { dots } = await packAll(store, settings(), runOf(2));
    expect(samplesOf(store, runOf(2))).toEqual(['json north.jpg south.jpg']);
    expect(dots?.joined).toEqual({ objects: 2, example: 'c.north.jpg' });
  });

  it('keeps the samples that an earlier release has planned', async () => {
    const store = dropped(['a.left.jpg', 'a.right.jpg', 'john.smith.jpg']);
    await planShards({ store, now }, { runId: runOf(1), pipeline: PIPELINE, packing: settings() });
    const { planCommit } = packingKeys(PIPELINE, runOf(1));
    forgetRule(store, planCommit);
    await planAndPack(store, settings(), runOf(1));
    await sealDataset({ store }, { runId: runOf(1), pipeline: PIPELINE, packing: settings() });
    expect(planSchema.parse(JSON.parse(store.body(planCommit).toString())).innerSuffixes).toBeUndefined();
    expect(samplesOf(store)).toEqual(['left.jpg right.jpg', 'smith.jpg']);
    expect(splitKey('john.smith.jpg')).toEqual({ stem: 'john', suffix: 'smith.jpg' });
  });

  it('keeps the words that it was begun with', async () => {
    const store = dropped(['a.north.jpg', 'a.south.jpg']);
    await packAll(store, settings({ innerSuffixes: ['north', 'south'] }), runOf(1));
    dropped(['b.north.jpg', 'b.south.jpg', 'b.left.jpg'], store);
    await packAll(store, settings(), runOf(2));
    expect(samplesOf(store, runOf(2))).toEqual(['jpg', 'north.jpg south.jpg']);
  });
});
