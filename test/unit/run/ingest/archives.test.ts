/** A batch is closed after its archives are unpacked, and the timeline says what became of each. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { archiveNoteKeys } from '@tidewheel/packing/bundles.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { type ArchiveWork, unpackArchives } from '../../../../functions/run/ingest/archives.ts';
import { settleRun } from '../../../../functions/run/ingest/settle-run.ts';
import { zipFile } from '../../../support/builders/archives.ts';
import { runOf } from '../../../support/builders/records.ts';
import { MemoryBlobStore } from '../../../support/fakes/memory-blob-store.ts';
import { DECLARATION, type Ground, ground } from '../../../support/world/ground.ts';

const incoming = bucketKeys.incoming('digits');
const RUN = { runId: 'digits-000001', pipeline: 'digits' };

let at: Ground;
beforeEach(async () => {
  at = ground();
  declare('archives: unpack, ignore: [old/]');
  const now = at.clock.now().toISOString();
  await at.pipelines.ensure('digits', { firstBatch: 1, at: now });
  await at.runs.create(runOf('digits', 1, { createdAt: now, updatedAt: now }));
});

const declare = (packing: string, dataset = '{}'): void =>
  at.declare(`${DECLARATION}\npacking: { ${packing} }\ndataset: ${dataset}\n`);

const ended = (key: string, etag: string) => archiveNoteKeys('digits', { key: incoming + key, etag }).ended;

async function workOf(): Promise<ArchiveWork | undefined> {
  const settled = await settleRun(at, { runId: RUN.runId });
  return settled.kind === 'unpack' ? settled.work : undefined;
}

const etagOf = async (key: string): Promise<string> => (await at.store.readText(incoming + key))?.etag ?? '';

describe('a batch with archives', () => {
  beforeEach(() => {
    for (const key of ['a.zip', 'b/C.TAR.GZ', 'c.7z', 'old/d.zip', '__MACOSX/._a.zip', 'e.jpg', '_SUCCESS'])
      at.drop(key);
  });

  it('is closed once each has an end', async () => {
    const { archives = [] } = (await workOf()) ?? {};
    expect(archives.map(({ key }) => key.slice(incoming.length))).toEqual(['a.zip', 'b/C.TAR.GZ', 'c.7z']);
    for (const { key, etag } of archives)
      await at.store.writeText(ended(key.slice(incoming.length), etag), '{}');
    expect(await settleRun(at, { runId: RUN.runId })).toMatchObject({ kind: 'settled' });
  });

  it('looks again at one that began and ended', async () => {
    const etag = await etagOf('a.zip');
    const { begun } = archiveNoteKeys('digits', { key: `${incoming}a.zip`, etag });
    for (const note of [begun, ended('a.zip', etag)]) await at.store.writeText(note, '{}');
    expect((await workOf())?.archives[0]).toMatchObject({ key: `${incoming}a.zip`, etag });
  });

  it('unpacks none by default', async () => {
    declare('archives: pack');
    expect(await settleRun(at, { runId: RUN.runId })).toMatchObject({ kind: 'settled' });
  });

  it.each([
    ['retract', 1],
    ['keep', 0],
  ])('has %s of deletions take %i along', async (onDelete, gone) => {
    declare('archives: unpack', `{ onDelete: ${onDelete} }`);
    for (const key of ['gone.zip', 'old/d.zip']) await at.store.writeText(ended(key, 'e'), '{}');
    expect((await workOf())?.gone).toHaveLength(gone);
  });

  it('has files that packing reads as objects', async () => {
    declare(
      'archives: unpack, label: annotations, annotations: { file: a/l.csv }, split: { by: list, train: [a/t.txt], test: [a/v.txt] }',
    );
    expect((await workOf())?.apart).toEqual(['a/l.csv', 'a/t.txt', 'a/v.txt']);
  });
});

it('the timeline says what became of each archive', async () => {
  const store = new MemoryBlobStore();
  store.seed(`${incoming}a.zip`, zipFile([['x/1.jpg', 'one']]));
  store.seed(`${incoming}b.zip`, 'no zip');
  const { objects: archives } = await store.listPage(incoming);
  const work = { archives: [...archives], gone: [], apart: [], shuffle: true };
  for (let time = 0; time < 2; time += 1) await unpackArchives({ ...at, store }, RUN, work);
  expect((await at.timeline.list(RUN.runId)).map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
    'ArchiveUnpacked: a.zip unpacked: 1 file',
    expect.stringMatching(/^ArchiveRefused: b\.zip is not unpacked: it is damaged \(.*\): make it again/),
  ]);
});

it('an archive is begun in the first minute alone', async () => {
  const store = new MemoryBlobStore();
  for (const key of ['a.zip', 'b.zip']) store.seed(incoming + key, zipFile([['x/1.jpg', 'one']]));
  const { objects } = await store.listPage(incoming);
  const slow = { now: () => new Date((at.clock.advance(20), at.clock.now())) };
  const work = { archives: [...objects], gone: [], apart: [], shuffle: true };
  expect(await unpackArchives({ ...at, store, clock: slow }, RUN, work)).toBe(1);
});
