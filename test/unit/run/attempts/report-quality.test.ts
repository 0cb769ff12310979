/** The quality report after a seal: its failure is noted, and what it holds back is not trained on. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { packingKeys } from '@tidewheel/packing/dataset.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import type { RunRecord } from '../../../../functions/records/run-records.ts';
import { judgeRun } from '../../../../functions/run/attempts/judge-run.ts';
import { reportQuality } from '../../../../functions/run/attempts/report-quality.ts';
import { packedInDrops } from '../../../support/builders/compaction.ts';
import { controlView } from '../../../support/builders/control-view.ts';
import { PIPELINE, RUN, settings } from '../../../support/builders/packing.ts';
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

describe('data that is held back', () => {
  const second = `${PIPELINE}-000002`;
  const declaration = declarationOf(PIPELINE, { packing: { hold } });
  const run = runOf(PIPELINE, 2, { declaration, generation: second });
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

  it('is held without a report too', async () => {
    expect(await why()).toContain('has no quality report');
  });

  it('trains without a limit, or with a pinned version', async () => {
    expect(await why({ declaration: declarationOf(PIPELINE) })).toBeUndefined();
    const pinned = declarationOf(PIPELINE, { packing: { hold }, dataset: { pin: RUN } });
    expect(await why({ declaration: pinned })).toBeUndefined();
  });
});
