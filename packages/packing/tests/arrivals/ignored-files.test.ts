/** Files that systems and tools leave are no samples, and they change nothing about those beside them. */

import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import { describe, expect, it } from 'vitest';
import { runOf } from '../../../../test/support/builders/compaction.ts';
import {
  dropped,
  incoming,
  memberLines,
  now,
  PIPELINE,
  packAll,
  planAndPack,
  RUN,
  settings,
} from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { ignoredFiles } from '../../arrivals/rejected-keys.ts';
import { planShards } from '../../plan/plan-shards.ts';
import { writeQualityReport } from '../../quality/quality-report.ts';
import { sealDataset } from '../../seal/seal-dataset.ts';

const LEFT = [
  '.DS_Store',
  'cat/.DS_Store',
  'cat/._1.jpg',
  '__MACOSX/cat/1.jpg',
  'cat/Thumbs.db',
  'dog/desktop.ini',
  'dog/.ipynb_checkpoints/1-checkpoint.jpg',
  '_SUCCESS',
  '_temporary/0/task/1.jpg',
  'dog/.1.jpg.crc',
  'dog/2.jpg.tmp',
  'dog/3.jpg.part',
  'dog/3.jpg.crdownload',
  'dog/$RECYCLE.BIN/4.jpg',
  'dog/~$labels.xlsx',
];
const DATA = [
  'cat/1.jpg',
  'dog/2.jpg',
  'dog/tmp/3.jpg',
  'parts/4.jpg',
  'x.tmp/5.jpg',
  '_SUCCESSFUL',
  'thumbs.db.jpg',
  'a~b.txt',
  'part-00000',
];

const packed = (store: MemoryBlobStore, run = RUN): (string | undefined)[] =>
  memberLines(store, run)
    .flatMap(({ key }) => (key === undefined ? [] : [key.slice(incoming.length)]))
    .sort();

const packing = settings({ shuffle: false, require: [] });

describe('files that systems and tools leave', () => {
  it('are no samples, and counted', async () => {
    const store = dropped([...LEFT, ...DATA]);
    const sealed = await packAll(store, packing);
    expect(packed(store)).toEqual([...DATA].sort());
    expect(sealed).toMatchObject({ ignored: LEFT.length, rejected: 0, samples: DATA.length });
    const asked = { pipeline: PIPELINE, generation: RUN, hold: { rejected: '0 %' } };
    const report = await writeQualityReport({ store }, asked);
    expect(report).toMatchObject({ held: [], rejections: { byReason: { ignored: LEFT.length } } });
  });

  it('are no batch where nothing else arrived', async () => {
    const store = dropped(LEFT);
    expect(await packAll(store, packing)).toMatchObject({ status: 'unchanged', ignored: LEFT.length });
    const again = { runId: runOf(2), pipeline: PIPELINE, packing };
    expect(await planShards({ store, now }, again)).toMatchObject({ status: 'nothingNew' });
  });

  it('bring no packed sample back', async () => {
    const store = dropped(['cat/1.jpg', 'cat/.DS_Store']);
    await packAll(store, packing);
    store.seed(`${incoming}cat/1.jpg.tmp`, 'half');
    store.seed(`${incoming}cat/.DS_Store`, 'changed');
    dropped(['cat/2.jpg'], store);
    const run = { runId: runOf(2), pipeline: PIPELINE, packing };
    await planShards({ store, now }, { ...run, onChange: 'replace' });
    await planAndPack(store, packing, run.runId);
    expect(await sealDataset({ store }, run)).toMatchObject({ ignored: 2, generations: 2, waiting: 0 });
    expect(packed(store, run.runId)).toEqual(['cat/2.jpg']);
  });

  it('are packed where none is to be ignored', async () => {
    const store = dropped([...LEFT, ...DATA]);
    await packAll(store, { ...packing, ignore: 'none' });
    expect(packed(store)).toEqual([...LEFT, ...DATA].sort());
  });
});

describe('declared names', () => {
  it('are ignored beside the known ones', () => {
    const isIgnored = ignoredFiles({ ignore: ['*.bak', 'drafts/', 'read(me).txt'] });
    const keys = ['a.bak', 'x/A.BAK', 'drafts/1.jpg', 'x/drafts/y/1.jpg', 'read(me).txt', '.DS_Store'];
    expect(keys.filter((key) => !isIgnored(key))).toEqual([]);
    const others = ['a.bakery', 'drafts', 'mydrafts/1.jpg', 'readme.txt', 'x.bak/1.jpg'];
    expect(others.filter(isIgnored)).toEqual([]);
  });

  it('are names, and not paths', () => {
    expect(packingSchema.safeParse({ ignore: ['a/b.txt'] }).success).toBe(false);
    expect(packingSchema.safeParse({ ignore: ['*.bak', 'drafts/'] }).success).toBe(true);
  });
});
