/** The class in a label file (.cls) that arrived counts as one that packing made. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import {
  type Arrivals,
  compactAll,
  current,
  incoming,
  packedInDrops,
  runOf,
} from '../../../../test/support/builders/compaction.ts';
import { PIPELINE, settings } from '../../../../test/support/builders/packing.ts';
import type { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { ownLabel } from '../../labels/sample-labels.ts';
import { writeQualityReport } from '../../quality/quality-report.ts';
import type { QualityReport } from '../../quality/report-document.ts';
import { verifyGeneration } from '../../verify/verify.ts';

interface Reported {
  readonly report: QualityReport;
  readonly page: string;
  readonly labels: readonly string[] | undefined;
  readonly store: MemoryBlobStore;
}

async function packed(
  drops: readonly Arrivals[],
  packing: PackingSettings,
  hold?: PackingSettings['hold'],
): Promise<Reported> {
  const store = await packedInDrops(drops, packing);
  const generation = runOf(drops.length);
  const report = await writeQualityReport({ store }, { pipeline: PIPELINE, generation, hold });
  if (report === undefined) throw new Error('no report');
  const manifests = await current(store);
  for (const manifest of manifests) expect((await verifyGeneration(store, manifest)).problems).toEqual([]);
  const page = store.body(`${bucketKeys.generation(PIPELINE, generation)}quality/report.html`).toString();
  return { report, page, labels: manifests.at(-1)?.labels, store };
}

const bare = settings({ label: 'none' });
const one = (name: string, label: string, body = name): Arrivals => ({
  [`${name}.jpg`]: body,
  [`${name}.cls`]: label,
});

describe('label files of samples', () => {
  it.each<Partial<PackingSettings>>([{}, { format: 'tfrecord' }, { format: 'mds' }, { format: 'parquet' }])(
    'are counted as classes with %o',
    async (format) => {
      const drop = { ...one('a', 'cat\n'), ...one('b', 'dog'), ...one('c', ' cat') };
      const { report, labels, store } = await packed([drop], settings({ label: 'none', ...format }));
      expect(report.classes).toMatchObject([
        { name: 'cat', now: 2 },
        { name: 'dog', now: 1 },
      ]);
      expect(labels).toEqual(['cat', 'dog']);
      const [manifest] = await current(store);
      const counts = manifest && (await verifyGeneration(store, manifest)).classes;
      expect([...(counts ?? [])]).toMatchObject([
        ['cat', { samples: 2 }],
        ['dog', { samples: 1 }],
      ]);
    },
  );

  it('keep their numbers, and give drift', async () => {
    const drops = [
      { ...one('a', '0'), ...one('b', '1') },
      { ...one('c', '2'), ...one('d', '1') },
    ];
    const { report, labels, store } = await packed(drops, bare);
    expect(labels).toEqual(['0', '1', '2']);
    expect(report.drift.classes).toMatchObject([
      { what: '0', before: 50, now: 25 },
      { what: '2', now: 25 },
    ]);
    await compactAll(store, bare);
    expect((await current(store)).map(({ labels: joined }) => joined)).toEqual([['0', '1', '2']]);
  });

  it('conflict with each other, and hold training', async () => {
    const drop = { ...one('a', 'cat', 'same bytes'), ...one('b', 'dog', 'same bytes') };
    const { report } = await packed([drop], bare, {
      conflictingLabels: '0 %',
      singleSampleClasses: '0 %',
    });
    expect(report.duplicates).toMatchObject({ conflicting: 1, examples: [{ labels: ['cat', 'dog'] }] });
    expect(report.held).toHaveLength(2);
  });

  it('are numbers where shards hold numbers', async () => {
    const packing = settings({ label: 'none', format: 'mds', labelType: 'integer' });
    const { labels } = await packed([{ ...one('a', '07\n'), ...one('b', '7') }], packing);
    expect(labels).toEqual(['7']);
  });

  it('are shown where the folder says otherwise', async () => {
    const drop = { ...one('cat/1', 'dog'), ...one('cat/2', 'cat'), 'dog/3.jpg': 'three' };
    const { report, page } = await packed([drop], settings());
    expect(report.generationTally.ownLabels).toEqual({
      samples: 2,
      differing: 1,
      examples: [{ key: `${incoming}cat/1.cls`, label: 'dog', declared: 'cat' }],
    });
    expect(report.classes).toMatchObject([
      { name: 'cat', now: 1 },
      { name: 'dog', now: 2 },
    ]);
    expect(page).toMatch(/2 samples of this generation brought .*cat\/1\.cls.*dog.*cat/s);
  });

  it('are shown where the annotations say otherwise', async () => {
    const annotations = { file: 'labels.csv', key: 'key', label: 'label' };
    const packing = settings({ label: 'annotations', annotations });
    const rows = 'key,label\na,cat\nb,dog\nd,cat\nd,dog\n';
    const drop = { ...one('a', 'cat'), ...one('b', 'cow'), ...one('d', 'cow'), 'labels.csv': rows };
    const { report } = await packed([drop], packing);
    expect(report.generationTally.ownLabels).toMatchObject({ samples: 3, differing: 1 });
    expect(report.generationTally.ownLabels?.examples).toMatchObject([{ label: 'cow', declared: 'dog' }]);
  });
});

describe('the class in a label file', () => {
  it.each([
    [' cat \n', 'cat'],
    ['Ä b', 'Ä b'],
    ['', undefined],
    ['cat\ndog', undefined],
    [Buffer.from([0xff, 0xfe]), undefined],
    ['x'.repeat(1_025), undefined],
  ])('of %o is %o', (content, label) => {
    expect(ownLabel([Buffer.from(content)], undefined)?.label).toBe(label);
  });
});
