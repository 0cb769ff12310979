/** The quality report after a seal: its failure is noted, and what it holds back is not trained on. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { holdOf } from '@tidewheel/declaration/packing-settings.ts';
import { packingKeys } from '@tidewheel/packing/dataset.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import type { RunRecord } from '../../../../functions/records/run-records.ts';
import { judgeRun } from '../../../../functions/run/attempts/judge-run.ts';
import { reportQuality } from '../../../../functions/run/attempts/report-quality.ts';
import { packedInDrops } from '../../../support/builders/compaction.ts';
import { controlView } from '../../../support/builders/control-view.ts';
import { PIPELINE, RUN, settings } from '../../../support/builders/packing.ts';
import { many } from '../../../support/builders/quality.ts';
import { declarationOf, runOf } from '../../../support/builders/records.ts';
import type { MemoryBlobStore } from '../../../support/fakes/memory-blob-store.ts';
import { type Ground, ground } from '../../../support/world/ground.ts';

const hold = { classShare: '10 %' };
const asked = { runId: RUN, pipeline: PIPELINE, generation: RUN, hold };
let at: Ground;
let store: MemoryBlobStore;

beforeEach(async () => {
  at = ground();
  store = await packedInDrops(
    [
      { 'a/1.txt': 'one', 'b/2.txt': 'two' },
      { 'b/3.txt': 'three', 'b/4.txt': 'three' },
    ],
    settings(),
  );
});

const entries = async (runId = RUN): Promise<string[]> =>
  (await at.timeline.list(runId)).filter(({ kind }) => kind === 'QualityReported').map(({ text }) => text);

describe('a report that cannot be made', () => {
  it('is noted once, and the seal stands', async () => {
    const [shard] = store.keys(`${bucketKeys.generation(PIPELINE, RUN)}members/`);
    store.objects.delete(shard ?? '');
    for (let turn = 0; turn < 2; turn += 1) await reportQuality(at, { store }, asked);
    expect(await entries()).toEqual([
      expect.stringMatching(/^the quality report failed, and the data is sealed: /),
    ]);
    expect(store.objects.has(bucketKeys.manifest(PIPELINE, RUN))).toBe(true);
  });

  it('is not tried again after it ended its process', async () => {
    store.seed(packingKeys(PIPELINE, RUN).quality('begun.json'), '{}');
    await reportQuality(at, { store }, asked);
    expect((await entries())[0]).toContain(`tidewheel data report s3://${store.bucket}/${PIPELINE} ${RUN}`);
  });
});

describe('a report', () => {
  it('tells the timeline what it found', async () => {
    const second = `${PIPELINE}-000002`;
    await reportQuality(at, { store }, { ...asked, runId: second, generation: second });
    expect((await entries(second))[0]).toMatch(
      /^1 samples repeat others of the batch, held: class "a" has 25 % .*; the report is s3:\/\/.*\/report\.html$/,
    );
  });

  it('tells the timeline what may be a mistake', async () => {
    store = await packedInDrops([{ 'Cat/1.txt': '1', 'cat/2.txt': '2' }], settings());
    await reportQuality(at, { store }, { ...asked, hold: undefined });
    const lines = { kind: 'csv', header: 'none' } as const;
    const csv = await packedInDrops([{ 'a.csv': 'x,y\n1,2\n' }], settings({ format: 'lines', lines }));
    const second = `${PIPELINE}-000002`;
    await reportQuality(at, { store: csv }, { ...asked, runId: second, generation: RUN, hold: undefined });
    expect((await entries())[0]).toMatch(/^classes that may be the same: "Cat" and "cat"; /);
    expect((await entries(second))[0]).toMatch(/^1 of 1 CSV sources looked at seem to begin with a header/);
  });
});

const few = { 'a/1.png': 'x', 'a/2.txt': 'two', 'b/3.png': 'y', 'b/.DS_Store': '' };

/** The header of a PNG of 4 by 4 pixels. */
const PNG = Buffer.from('89504e470d0a1a0a0000000d494844520000000400000004', 'hex');

it('an image without a header is said', async () => {
  const whole = { 'cat/1.png': PNG, 'cat/2.png': Buffer.concat([PNG, Buffer.from('2')]) };
  store = await packedInDrops([{ ...whole, 'dog/3.png': 'damaged', 'dog/4.bin': '' }], settings());
  await reportQuality(at, { store }, asked);
  expect((await entries())[0]).toMatch(
    /^1 files are empty, such as dog\/4\.bin, 1 images have no header of one, such as dog\/3\.png; /,
  );
});

it('an archive is said to be one sample', async () => {
  store = await packedInDrops([{ 'cat/1.png': PNG, 'dog/2.tar.gz': 'x', 'dog/3.ZIP': 'x' }], settings());
  await reportQuality(at, { store }, asked);
  expect((await entries())[0]).toMatch(
    /1 archives are one sample each \(packing\.archives: unpack .*\), such as dog\/2\.tar\.gz, .*dog\/3\.ZIP/,
  );
});

it.each([
  ['a character that shards cannot hold', { 'cat/what?.txt': 'x', 'cat/b.txt': 'y' }, 'what?.txt'],
  ['a suffix that differs by case alone', { 'cat/a.JPG': 'x', 'cat/a.jpg': 'y' }, 'a.jpg'],
])('a file renamed for %s is said', async (_, drop, name) => {
  store = await packedInDrops([drop], settings());
  await reportQuality(at, { store }, asked);
  expect((await entries())[0]).toContain(`1 files have another name in the shards, such as cat/${name}`);
});

it('no name is said of lines', async () => {
  const lines = { kind: 'csv', header: 'none' } as const;
  store = await packedInDrops([{ 'a.csv': '1,2\n' }], settings({ format: 'lines', lines }));
  await reportQuality(at, { store }, asked);
  expect((await entries())[0]).toMatch(/^nothing noticed/);
});

describe('what is not trained on', () => {
  it('is said first, with its share and an example', async () => {
    store = await packedInDrops([few], settings({ accept: ['.txt'] }));
    await reportQuality(at, { store }, { ...asked, hold: holdOf({}) });
    expect((await entries())[0]).toMatch(
      /^2 of 3 arrivals \(66\.7 %\) are not trained on: 2 suffixNotAccepted, such as a\/1\.png, held: 66\.7 % of the arrivals were rejected \(limit: 50 %\); /,
    );
  });

  it.each([
    [{ hold: { rejected: '70 %' } }, '70 %'],
    [{ hold: { classShare: '1 %' } }, '50 %'],
    [{}, '50 %'],
  ])('has the limit of %j', (packing, limit) => {
    expect(holdOf(packing).rejected).toBe(limit);
  });

  it('counts nothing that balance leaves out', async () => {
    const drop = { ...many('cat', 9), ...many('dog', 1) };
    store = await packedInDrops([drop], settings({ balance: 'under' }));
    await reportQuality(at, { store }, { ...asked, hold: holdOf({}) });
    expect((await entries())[0]).toMatch(/^nothing noticed/);
  });
});

it('joins without a declaration are said', async () => {
  store = await packedInDrops([{ 'a.txt': '1', 'a.json': '{}', 'b.left.txt': '2' }], settings());
  await reportQuality(at, { store }, { ...asked, hold: holdOf({}) });
  expect((await entries())[0]).toMatch(
    /^1 files join a sample by a word between dots, such as b\.left\.txt, 1 files join a sample of the same name, such as a\.txt; /,
  );
});

describe('data that is held back', () => {
  const second = `${PIPELINE}-000002`;
  const declaration = declarationOf(PIPELINE, { packing: { hold } });
  const run = runOf(PIPELINE, 2, { declaration, generation: second });
  const undeclared = { declaration: declarationOf(PIPELINE) };
  /** Why its first attempt is not placed. */
  const why = async (over: Partial<RunRecord> = {}) => {
    const own = ground();
    await own.runs.create({ ...run, ...over });
    const next = await judgeRun({ ...own, store: controlView(store) }, { runId: second });
    return next.kind === 'failed' ? next.reason : undefined;
  };

  it('is not trained on until a person releases it', async () => {
    await reportQuality(at, { store }, { ...asked, runId: second, generation: second });
    const held = await why();
    expect(held).toMatch(/^held back by packing\.hold: class "a" has 25 %/);
    expect(held).toContain(`tidewheel data release s3://${store.bucket}/${PIPELINE} ${second}`);
    expect(await why({ generation: undefined })).toBe(held);
    store.seed(packingKeys(PIPELINE, second).quality('released.json'), '{}');
    expect(await why()).toBeUndefined();
  });

  it('is most of a drop that was rejected', async () => {
    store = await packedInDrops([{ 'a/1.txt': '1' }, few], settings({ accept: ['.txt'] }));
    await reportQuality(at, { store }, { ...asked, runId: second, generation: second, hold: holdOf({}) });
    expect(await why(undeclared)).toMatch(/^held back by packing\.hold: 66\.7 % of the arrivals/);
    store.seed(packingKeys(PIPELINE, second).quality('released.json'), '{}');
    expect(await why(undeclared)).toBeUndefined();
  });

  it('is held without a report too', async () => {
    expect(await why()).toContain('has no quality report');
  });

  it('trains without a limit, or with a pinned version', async () => {
    expect(await why(undeclared)).toBeUndefined();
    const pinned = declarationOf(PIPELINE, { packing: { hold }, dataset: { pin: RUN } });
    expect(await why({ declaration: pinned })).toBeUndefined();
  });
});
