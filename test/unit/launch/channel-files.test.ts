/** What a script that reads files gets of incoming/: the files of the version that its run trains on. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { compact } from '@tidewheel/packing/compact.ts';
import { planShards } from '@tidewheel/packing/plan.ts';
import { sealDataset } from '@tidewheel/packing/seal.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { launchAttempt } from '../../../functions/run/attempts/launch-attempt.ts';
import { seedBundle } from '../../support/builders/bundles.ts';
import { now, packAll, planAndPack, SMALL, settings } from '../../support/builders/packing.ts';
import { declarationOf, launchOf, runOf } from '../../support/builders/records.ts';
import { MemoryBlobStore } from '../../support/fakes/memory-blob-store.ts';
import { type Ground, ground } from '../../support/world/ground.ts';

const incoming = bucketKeys.incoming('digits');
const packing: Partial<PackingSettings> = { accept: ['.txt', '.png'], label: 'none' };
const dataChannel = (over: object = {}) => ({ channels: { data: { s3: 'incoming/', ...over } } });

let at: Ground;
let blobs: MemoryBlobStore;

beforeEach(() => {
  at = ground();
  blobs = new MemoryBlobStore();
});

const drop = (name: string, body = `the bytes of ${name}`, etag?: string): void =>
  blobs.seed(`${incoming}${name}`, body, etag);
const seal = (batch: number, over: Partial<PackingSettings> = {}) =>
  packAll(blobs, settings({ ...packing, ...over }), runOf('digits', batch).runId);

/** An object that came again is compared with what the dataset holds of its key. */
async function sealReplacing(batch: number): Promise<void> {
  const run = { runId: runOf('digits', batch).runId, pipeline: 'digits', packing: settings(packing) };
  const planned = await planShards({ store: blobs, now }, { ...run, onChange: 'replace' });
  if (planned.status === 'planned') await planAndPack(blobs, run.packing, run.runId);
  await sealDataset({ store: blobs }, run);
  await compact(blobs, { ...run, after: 'never', onChange: 'replace' }, { ...SMALL, readBytes: 1_000 });
}

interface Launch {
  readonly batch: number;
  readonly channel?: object;
  readonly declared?: object;
}

/** The packing port and the control plane see one bucket. */
const bucketOf = (): Ground['store'] => {
  for (const [key, { body }] of blobs.objects) at.store.put(key, body);
  return {
    ...at.store,
    async *list(prefix) {
      for await (const object of at.store.list(prefix))
        yield { ...object, etag: blobs.objects.get(object.key)?.etag ?? object.etag };
    },
  };
};

/** @returns the data channel of the job, and its run's line on the timeline */
async function launched({ batch, channel, declared = {} }: Launch) {
  const run = runOf('digits', batch);
  const time = at.clock.now().toISOString();
  const declaration = declarationOf('digits', {
    packing,
    training: { strategy: 'ddp', ...dataChannel(channel) },
    ...declared,
  });
  const deps = { ...at, store: bucketOf(), region: 'us-east-1', publishAgent: async () => 'agent/0a1b/' };
  await at.pipelines.ensure('digits', { firstBatch: batch, at: time });
  await at.runs.create(run);
  await at.runs.closeBatch(run, { at: time, declaration });
  await at.placements.put(run.runId, 1, launchOf());
  await launchAttempt(deps, { runId: run.runId, attempt: 1, taskToken: 'token' });
  const [request] = at.training.jobs.values();
  const source = request?.InputDataConfig.find(({ ChannelName }) => ChannelName === 'data')?.DataSource;
  const [line] = (await at.timeline.list(run.runId)).filter(({ kind }) => kind === 'ChannelFiles');
  const uri = source?.S3DataSource?.S3Uri ?? '';
  const [head, ...files] =
    source?.S3DataSource?.S3DataType === 'ManifestFile'
      ? (at.store.json(uri.slice(`s3://${at.store.bucket}/`.length)) as [object, ...string[]])
      : [undefined];
  return { source: source?.S3DataSource, head, files, line: line?.text };
}

const generationsIn = (batch: number) => ({ dataset: { pin: runOf('digits', batch).runId } });
const put = (names: readonly string[]) => names.forEach((name) => drop(name));
const OTHERS = 'that came or changed after the seal, or wait for the next';

describe('a channel below incoming/', () => {
  it('leaves out what packing rejected by name or content', async () => {
    put(['a.txt', 'cut.png', 'd/ö [1].txt', 'notes.md', '.DS_Store']);
    await seal(1);
    const { source, head, files, line } = await launched({ batch: 1 });
    expect(source).toMatchObject({ S3DataType: 'ManifestFile', S3DataDistributionType: 'FullyReplicated' });
    expect(head).toEqual({ prefix: `s3://${at.store.bucket}/${incoming}` });
    expect(files).toEqual(['a.txt', 'd/ö [1].txt']);
    expect(line).toBe(
      'channel data has the 2 files of the sealed version in incoming/, and not 3 that packing rejected, such as .DS_Store',
    );
  });

  it('has the same files for a rerun, whatever came', async () => {
    put(['a.txt', 'b.txt', 'c.txt']);
    await seal(1);
    put(['new.txt', 'cut.png']);
    await seal(2);
    drop('b.txt', 'other bytes');
    drop('z.txt');
    const { files, line } = await launched({ batch: 3, declared: generationsIn(1) });
    expect(files).toEqual(['a.txt', 'c.txt']);
    expect(line).toMatch(`and not 4 ${OTHERS}, such as b.txt`);
    expect(line).toMatch('has 2 of the 3 files of the sealed version, because the others do not lie in');
  });

  it.each([
    ['incoming/', '2 of the 4 files'],
    ['incoming/d/', '1 of the 2 files'],
  ])('below %s says how many files are missing', async (s3, words) => {
    put(['a.txt', 'd/b.txt']);
    await seal(1);
    for (const name of ['a.txt', 'd/b.txt']) blobs.objects.delete(`${incoming}${name}`);
    put(['c.txt', 'd/e.txt']);
    await seal(2);
    const { line } = await launched({ batch: 2, channel: { s3 } });
    expect(line).toBe(
      `channel data has ${words} of the sealed version, because the others do not lie in ${s3} as they were packed`,
    );
  });

  it('says that files in bundles are not in it', async () => {
    seedBundle(blobs, { 'a.txt': 'one', 'b.txt': 'two' });
    put(['c.txt']);
    await seal(1);
    const { files, line } = await launched({ batch: 1 });
    expect(files).toEqual(['c.txt']);
    expect(line).toMatch(
      /^channel data has 1 of the 3 files .*, and not 2 that bundle files \(a channel has only what is dropped without --bundle\), such as \.tidewheel/,
    );
  });

  it('grows with the version', async () => {
    put(['a.txt']);
    await seal(1);
    drop('b.txt');
    await seal(2);
    const { files, line } = await launched({ batch: 2 });
    expect(files).toEqual(['a.txt', 'b.txt']);
    expect(line).toBeUndefined();
  });

  it.each([
    ['bytes that it had before', 'as before', {}, ['a.txt', 'b.txt']],
    ['bytes that it may have had before', 'as before', { pin: 'digits-000001' }, ['b.txt']],
    ['bytes that came after it', 'changed', { pin: 'digits-000001' }, ['b.txt']],
    ['bytes that the newest version has', 'changed', {}, ['a.txt', 'b.txt']],
  ])('knows an object with another ETag by %s', async (_, body, dataset, expected) => {
    drop('a.txt', 'as before');
    drop('b.txt');
    await sealReplacing(1);
    drop('a.txt', body);
    drop('z.txt');
    await sealReplacing(2);
    // As the AWS CLI sends a large file in parts.
    drop('a.txt', body, 'parts-2');
    await sealReplacing(3);
    const { files } = await launched({
      batch: 4,
      declared: { dataset: { onChange: 'replace', ...dataset } },
    });
    expect(files.filter((name) => name !== 'z.txt')).toEqual(expected);
  });

  it('keeps the file of annotations, not the marker', async () => {
    const labelled = {
      label: 'annotations',
      annotations: { file: 'labels.csv', key: 'file', label: 'class' },
    } as const;
    drop('a.txt');
    drop('labels.csv', 'file,class\na.txt,cat\n');
    drop('_SUCCESS', '');
    await seal(1, labelled);
    const { files, line } = await launched({
      batch: 1,
      declared: { packing: { ...packing, ...labelled }, settle: { marker: '_SUCCESS' } },
    });
    expect(files).toEqual(['a.txt', 'labels.csv']);
    expect(line).toBeUndefined();
  });

  it.each([
    ['below a folder of it', { s3: 'incoming/d/' }, `incoming/d/`, ['b.txt']],
    ['named in full', { s3: 's3://memory-bucket/digits/incoming/' }, 'incoming/', ['a.txt', 'd/b.txt']],
  ])('%s is a list too', async (_, channel, prefix, expected) => {
    put(['a.txt', 'd/b.txt']);
    await seal(1);
    const { head, files } = await launched({ batch: 1, channel });
    expect(head).toEqual({ prefix: `s3://${at.store.bucket}/digits/${prefix}` });
    expect(files).toEqual(expected);
  });

  it.each([
    ['of another pipeline', { s3: 's3://memory-bucket/letters/incoming/' }],
    ['elsewhere in the folder of the pipeline', { s3: 'words/' }],
  ])('%s stays a prefix', async (_, channel) => {
    drop('a.txt');
    await seal(1);
    const { source, line } = await launched({ batch: 1, channel });
    expect(source).toMatchObject({ S3DataType: 'S3Prefix' });
    expect(line).toBeUndefined();
  });

  it('is a prefix for FastFile, which the timeline says', async () => {
    put(['a.txt', 'cut.png']);
    await seal(1);
    put(['late.txt', '\u202elate.txt']);
    const { source, line } = await launched({ batch: 1, channel: { inputMode: 'FastFile' } });
    expect(source).toMatchObject({ S3DataType: 'S3Prefix', S3Uri: `s3://${at.store.bucket}/${incoming}` });
    expect(line).toBe(
      `channel data reads incoming/ as it is now, also 1 that packing rejected, such as cut.png; 2 ${OTHERS}, such as late.txt: only File takes a list of files, and of 100000 at most`,
    );
  });

  it('is a prefix beyond 100,000 objects, which is said', async () => {
    drop('a.txt');
    await seal(1);
    const listed = { size: 1, etag: 'e', lastModified: new Date(0) };
    let pulled = 0;
    const list = at.store.list.bind(at.store);
    at.store.list = async function* (prefix) {
      if (prefix !== incoming) return yield* list(prefix);
      for (; ; pulled += 1) yield { ...listed, key: `${prefix}${String(pulled).padStart(9, '0')}.txt` };
    };
    const { source, line } = await launched({ batch: 1 });
    expect(source).toMatchObject({ S3DataType: 'S3Prefix' });
    expect(line).toMatch(`reads incoming/ as it is now, also 100000 ${OTHERS}`);
    expect(pulled).toBe(100_000);
  });

  it.each([
    [
      'was deleted',
      () => blobs.objects.delete(`${incoming}a.txt`),
      'sealed version (it holds nothing): correct',
    ],
    [
      'changed',
      () => drop('a.txt', 'other'),
      `sealed version (it holds 1 ${OTHERS}, such as a.txt): correct`,
    ],
  ])('is refused where all of it %s', async (_, change, words) => {
    drop('a.txt');
    await seal(1);
    change();
    await expect(launched({ batch: 1 })).rejects.toThrow(words);
    expect(at.training.jobs.size).toBe(0);
  });
});
