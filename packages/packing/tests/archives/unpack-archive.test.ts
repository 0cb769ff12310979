/** The files of an archive are arrivals like those of a dropped bundle, whatever dies or changes meanwhile. */

import { hash, randomBytes } from 'node:crypto';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { tarFile, tgzFile, zipFile } from '../../../../test/support/builders/archives.ts';
import { DatasetWorld } from '../../../../test/support/builders/dataset-world.ts';
import {
  incoming,
  memberLines,
  PIPELINE,
  packPipeline,
  RUN,
} from '../../../../test/support/builders/packing.ts';
import { ARCHIVE_BOUNDS, type ArchiveBounds } from '../../archives/archive-bounds.ts';
import { type ArchiveNote, archiveFolder } from '../../archives/archive-notes.ts';
import { forgetArchive, retractArchive, unpackArchive } from '../../archives/unpack-archive.ts';
import { type BlobStore, UnreadableBlobError } from '../../documents/blob-store.ts';

const FLOWERS = [
  ['rose/1.jpg', 'red'],
  ['rose/2.jpg', 'white'],
  ['tulip/3.jpg', 'yellow'],
] as const;
const LARGE = Buffer.alloc(17_000_000, randomBytes(1_000_000));

let world: DatasetWorld;
beforeEach(() => {
  world = new DatasetWorld({ archives: 'unpack' });
});

interface Unpacking {
  readonly store?: BlobStore;
  readonly bounds?: Partial<ArchiveBounds>;
  readonly apart?: readonly string[];
  readonly clock?: () => number;
}

async function unpack(
  name: string,
  { store = world.store, bounds = {}, apart = [], clock = () => 0 }: Unpacking = {},
): Promise<ArchiveNote | undefined> {
  const key = incoming + name;
  const { objects } = await world.store.listPage(key);
  const archive = objects.find((object) => object.key === key);
  if (archive === undefined) throw new Error(`no ${name}`);
  return unpackArchive(
    { store, now: clock, bounds: { ...ARCHIVE_BOUNDS, ...bounds } },
    { pipeline: PIPELINE, apart, shuffle: true },
    archive,
  );
}

/** Without the archives themselves. */
const arrived = (): string[] =>
  world.store.keys(incoming).filter((key) => !/\.(zip|tar|tgz|tar\.gz)$/.test(key));

const labels = async (): Promise<readonly (string | undefined)[]> => [
  ...new Set((await world.keys()).map((key) => key.split('/').at(-2))),
];

describe('an archive of class folders', () => {
  it.each([
    ['flowers.zip', () => zipFile(FLOWERS)],
    ['flowers.tar', () => tarFile(FLOWERS)],
    ['flowers.tar.gz', () => tgzFile(FLOWERS)],
    ['Flowers.TGZ', () => tgzFile([['./', { kind: '5' }], ...FLOWERS])],
  ])('is packed as its files: %s', async (name, made) => {
    world.put({ [name]: made() });
    expect(await unpack(name)).toMatchObject({ state: 'unpacked', files: 3 });
    expect(await world.run()).toMatchObject({ samples: 3, rejected: 0, rejections: { byReason: {} } });
    const folder = name.replace(/\..*/, '');
    expect(await world.keys()).toEqual(FLOWERS.map(([key]) => `${folder}/${key}`));
    expect(await labels()).toEqual(['rose', 'tulip']);
    expect(await world.plan()).toMatchObject({ status: 'nothingNew' });
  });

  it('may have large files', async () => {
    world.put({ 'flowers.zip': zipFile([...FLOWERS, ['rose/large.jpg', { body: LARGE, method: 0 }]]) });
    await unpack('flowers.zip');
    await packPipeline(world.store, { runId: RUN, pipeline: PIPELINE, packing: world.packing });
    const line = memberLines(world.store).find(({ key }) => key === `${incoming}flowers/rose/large.jpg`);
    expect(line?.sha256).toBe(hash('sha256', LARGE));
  });

  it('is no news where it comes twice', async () => {
    world.put({ 'flowers.zip': zipFile(FLOWERS) });
    const first = await unpack('flowers.zip');
    const before = world.store.keys();
    expect(await unpack('flowers.zip')).toEqual(first);
    expect(world.store.keys()).toEqual(before);
  });

  it('leaves what was packed of it before as it is', async () => {
    world.packing = { ...world.packing, archives: undefined };
    world.put({ 'a/1.jpg': 'one', 'flowers.zip': zipFile(FLOWERS) });
    await world.run();
    expect(await world.keys()).toEqual(['a/1.jpg', 'flowers.zip']);
  });

  it('is left to the next run until it is unpacked', async () => {
    world.put({ 'a/1.jpg': 'one', 'flowers.zip': zipFile(FLOWERS) });
    await world.run();
    expect(await world.keys()).toEqual(['a/1.jpg']);
    await unpack('flowers.zip');
    await world.run();
    expect(await world.keys()).toHaveLength(4);
  });
});

describe('an archive that is replaced', () => {
  const replaced = zipFile([
    ['rose/1.jpg', 'red'],
    ['rose/2.jpg', 'pink'],
    ['tulip/4.jpg', 'violet'],
  ]);

  it.each([
    ['keep', ['flowers/rose/1.jpg', 'flowers/rose/2.jpg', 'flowers/tulip/3.jpg', 'flowers/tulip/4.jpg']],
    ['retract', ['flowers/rose/1.jpg', 'flowers/rose/2.jpg', 'flowers/tulip/4.jpg']],
  ] as const)('brings what is new, with onDelete: %s', async (onDelete, keys) => {
    world.onDelete = onDelete;
    world.put({ 'flowers.zip': zipFile(FLOWERS) });
    await unpack('flowers.zip');
    await world.run();
    const before = await world.held();
    world.store.now = () => new Date('2026-12-01T00:00:00Z');
    world.put({ 'flowers.zip': replaced });
    await unpack('flowers.zip');
    await world.run();
    expect(await world.keys()).toEqual(keys);
    const after = await world.held();
    expect(after['flowers/rose/1.jpg']).toBe(before['flowers/rose/1.jpg']);
    expect(after['flowers/rose/2.jpg']).not.toBe(before['flowers/rose/2.jpg']);
  });

  it('comes back as it was', async () => {
    world.put({ 'flowers.zip': zipFile(FLOWERS) });
    await unpack('flowers.zip');
    const before = arrived();
    world.put({ 'flowers.zip': replaced });
    await unpack('flowers.zip');
    expect(arrived()).not.toEqual(before);
    world.put({ 'flowers.zip': zipFile(FLOWERS) });
    await unpack('flowers.zip');
    expect(arrived()).toEqual(before);
  });

  it('leaves nothing of a version that was half read', async () => {
    world.put({ 'flowers.zip': zipFile([...FLOWERS, ['rose/large.jpg', { body: LARGE, method: 0 }]]) });
    let calls = 0;
    const store = dyingStore({
      see: () => {
        calls += 1;
        if (calls === 10) world.put({ 'flowers.zip': replaced });
      },
    });
    await unpack('flowers.zip', { store });
    await unpack('flowers.zip');
    await world.run();
    expect(await world.keys()).toEqual(['flowers/rose/1.jpg', 'flowers/rose/2.jpg', 'flowers/tulip/4.jpg']);
  });

  it.each([8, 10])('leaves nothing of a version that went at call %i', async (at) => {
    world.put({ 'flowers.zip': zipFile(FLOWERS) });
    let calls = 0;
    const store = dyingStore({
      see: () => {
        calls += 1;
        if (calls === at) world.put({ 'flowers.zip': replaced });
      },
    });
    expect(await unpack('flowers.zip', { store })).toBeUndefined();
    expect(world.store.keys(bucketKeys.bundles(PIPELINE))).toEqual([]);
    expect(world.store.keys(bucketKeys.archives(PIPELINE)).filter((key) => key.endsWith('.json'))).toEqual(
      [],
    );
  });

  it('by a damaged one keeps the files', async () => {
    world.put({ 'flowers.zip': zipFile(FLOWERS) });
    await unpack('flowers.zip');
    const before = arrived();
    world.put({ 'flowers.zip': 'no zip' });
    expect(await unpack('flowers.zip')).toMatchObject({ state: 'archiveRefused' });
    expect(arrived()).toEqual(before);
  });
});

describe('an archive that goes', () => {
  beforeEach(async () => {
    world.put({ 'flowers.zip': zipFile([...FLOWERS]), 'a/1.jpg': 'one' });
  });

  it('takes its files along where deletions count', async () => {
    world.onDelete = 'retract';
    await unpack('flowers.zip');
    await world.run();
    world.delete('flowers.zip');
    await forgetArchive(world.store, PIPELINE, archiveFolder(PIPELINE, `${incoming}flowers.zip`));
    await world.run();
    expect(await world.keys()).toEqual(['a/1.jpg']);
    expect(world.store.keys(bucketKeys.archives(PIPELINE))).toEqual([]);
  });

  it('takes its files along where it is retracted', async () => {
    await unpack('flowers.zip');
    await world.run();
    await retracted();
    expect(await world.keys()).toEqual(['a/1.jpg']);
    await world.run();
    expect(await world.keys()).toEqual(['a/1.jpg']);
    expect(arrived()).toEqual([`${incoming}a/1.jpg`]);
  });

  it('is not unpacked where it was retracted first', async () => {
    await retracted();
    expect(await unpack('flowers.zip')).toMatchObject({ state: 'retracted' });
    expect(arrived()).toEqual([`${incoming}a/1.jpg`]);
  });

  it('comes again with other bytes', async () => {
    await unpack('flowers.zip');
    await retracted();
    world.store.now = () => new Date('2026-01-02T00:00:00Z');
    world.put({ 'flowers.zip': zipFile([['rose/1.jpg', 'crimson']]) });
    await unpack('flowers.zip');
    await world.run();
    expect(await world.keys()).toEqual(['a/1.jpg', 'flowers/rose/1.jpg']);
  });

  it('is seen by one of both at any moment', async () => {
    world.put({ 'flowers.zip': zipFile(FLOWERS) });
    const calls = await callsOf('flowers.zip');
    for (let at = 1; at <= calls; at += 1) {
      world = new DatasetWorld({ archives: 'unpack' });
      world.put({ 'flowers.zip': zipFile(FLOWERS), 'a/1.jpg': 'one' });
      let count = 0;
      const store = dyingStore({
        see: () => {
          count += 1;
          return count === at ? retracted() : undefined;
        },
      });
      await unpack('flowers.zip', { store });
      expect(arrived(), `${at}`).toEqual([`${incoming}a/1.jpg`]);
    }
  });

  async function retracted(): Promise<void> {
    const key = `${incoming}flowers.zip`;
    const members = await retractArchive(world.store, PIPELINE, key);
    await world.retract(...members.map((one) => one.slice(incoming.length)));
  }
});

interface Meddling {
  /** The last call of the process. */
  readonly call?: number;
  /** It had its effect. */
  readonly hasEffect?: boolean;
  /** Before each call. */
  readonly see?: (name: keyof BlobStore) => unknown;
  readonly over?: Partial<BlobStore>;
}

/** Dies at one call, and makes no other. */
function dyingStore({ call = Number.POSITIVE_INFINITY, hasEffect, see, over = {} }: Meddling): BlobStore {
  let calls = 0;
  return new Proxy<BlobStore>(world.store, {
    get(target, name: keyof BlobStore) {
      const method: unknown = Reflect.get(target, name);
      if (typeof method !== 'function') return method;
      return async (...given: unknown[]) => {
        calls += 1;
        if (calls > call || (calls === call && hasEffect !== true)) throw new Error('dead');
        await see?.(name);
        const answer: unknown = await Reflect.apply(
          over[name] instanceof Function ? over[name] : method,
          target,
          given,
        );
        if (calls === call) throw new Error('dead');
        return answer;
      };
    },
  });
}

async function callsOf(name: string): Promise<number> {
  let calls = 0;
  const store = dyingStore({
    see: () => {
      calls += 1;
    },
  });
  await unpack(name, { store });
  return calls;
}

describe('a process that dies', () => {
  const zip = zipFile([...FLOWERS, ['rose/4.jpg', 'black']]);

  it('at any call leaves what the next one completes', async () => {
    world.put({ 'flowers.zip': zip });
    const calls = await callsOf('flowers.zip');
    const whole = world.store.keys();
    for (let call = 1; call <= calls; call += 1)
      for (const hasEffect of [false, true]) {
        world = new DatasetWorld({ archives: 'unpack' });
        world.put({ 'flowers.zip': zip });
        const store = dyingStore({ call, hasEffect });
        await expect(unpack('flowers.zip', { store }), `${call}`).rejects.toThrow('dead');
        expect(await unpack('flowers.zip')).toMatchObject({ state: 'unpacked', files: 4 });
        expect(world.store.keys(), `${call}`).toEqual(whole);
      }
  });

  it('at any call of a replacement loses nothing', async () => {
    const [first, second] = [
      zip,
      zipFile([
        ['rose/1.jpg', 'red'],
        ['rose/4.jpg', 'green'],
      ]),
    ];
    const both = (): void => {
      world = new DatasetWorld({ archives: 'unpack' });
      world.put({ 'flowers.zip': first });
    };
    both();
    await unpack('flowers.zip');
    world.put({ 'flowers.zip': second });
    const calls = await callsOf('flowers.zip');
    const whole = world.store.keys();
    for (let call = 1; call <= calls; call += 1) {
      both();
      await unpack('flowers.zip');
      world.put({ 'flowers.zip': second });
      const store = dyingStore({ call, hasEffect: call % 2 === 0 });
      await expect(unpack('flowers.zip', { store })).rejects.toThrow('dead');
      await unpack('flowers.zip');
      expect(world.store.keys(), `${call}`).toEqual(whole);
    }
  });

  it('three times has it refused', async () => {
    world.put({ 'flowers.zip': zip });
    for (let time = 0; time < 3; time += 1)
      await unpack('flowers.zip', { store: dyingStore({ call: 6 }) }).catch(() => undefined);
    expect((await unpack('flowers.zip'))?.why).toMatch(/3 processes died while .* drop DIR --bundle/);
    expect(arrived()).toEqual([]);
  });

  it('may have another one beside it', async () => {
    world.put({ 'flowers.zip': zip });
    const ends = await Promise.all([unpack('flowers.zip'), unpack('flowers.zip')]);
    expect(ends[0]).toEqual(ends[1]);
    await world.run();
    expect(await world.keys()).toHaveLength(4);
  });

  it('of a fault that passes is not counted', async () => {
    world.put({ 'flowers.zip': zip });
    for (let time = 0; time < 5; time += 1) {
      const store = dyingStore({ over: { listPage: () => Promise.reject(new Error('slow down')) } });
      await expect(unpack('flowers.zip', { store })).rejects.toThrow('slow down');
    }
    expect(await unpack('flowers.zip')).toMatchObject({ state: 'unpacked' });
  });
});

it('S3 that refuses the archive fails the run', async () => {
  world.put({ 'flowers.zip': zipFile(FLOWERS) });
  const get: BlobStore['get'] = (key, options) =>
    key.endsWith('.zip')
      ? Promise.reject(new UnreadableBlobError('AccessDenied', new Error('no')))
      : world.store.get(key, options);
  const store = dyingStore({ over: { get } });
  await expect(unpack('flowers.zip', { store })).rejects.toThrow(/AccessDenied.*permit or restore it/);
});

const named = (name: string): Buffer => zipFile([[name, 'x']]);

describe('an archive is refused, and nothing of it arrives,', () => {
  it.each<[what: string, name: string, body: () => Buffer, why: RegExp, Partial<ArchiveBounds>?]>([
    [
      'encrypted',
      'a.zip',
      () => zipFile([['x.jpg', { isEncrypted: true }]]),
      /"x.jpg" is encrypted: make it without/,
    ],
    [
      'a method',
      'a.zip',
      () => zipFile([['x.jpg', { method: 14 }]]),
      /compressed by method 14: make it with deflate/,
    ],
    ['no kind', 'a.7z', () => Buffer.from('7z'), /only \.zip, \.tar, \.tar\.gz and \.tgz are unpacked/],
    ['no zip', 'a.zip', () => Buffer.from('PK'), /it is damaged .*: make it again/],
    ['a short zip', 'a.zip', () => zipFile(FLOWERS).subarray(0, -30), /it is damaged/],
    ['empty', 'a.zip', () => zipFile([]), /it has no file/],
    [
      'a wrong sum',
      'a.zip',
      () => flipped(zipFile([['x', { body: 'abcdef', method: 0 }]]), 32),
      /"x" has other bytes/,
    ],
    ['a wrong size', 'a.zip', () => zipFile([['x', { body: 'abc', size: 2 }]]), /"x" has other bytes/],
    ['a wrong count', 'a.zip', () => zipFile(FLOWERS, 2), /more files than the 2 it counts/],
    ['a short tar', 'a.tar', () => tarFile(FLOWERS).subarray(0, 1024), /its end is missing/],
    ['a short gzip', 'a.tgz', () => tgzFile(FLOWERS).subarray(0, -20), /it is damaged/],
    ['no gzip', 'a.tgz', () => tarFile(FLOWERS), /it is damaged/],
    [
      'a link',
      'a.zip',
      () => zipFile([['x', { body: '/etc', mode: 0o120777 }]]),
      /"x" in it is a link: put files/,
    ],
    ['a device', 'a.zip', () => zipFile([['x', { mode: 0o060644 }]]), /"x" in it is no file/],
    ['a link', 'a.tar', () => tarFile([['x', { kind: '2' }]]), /"x" in it is a link/],
    ['a hard link', 'a.tar', () => tarFile([['x', { kind: '1' }]]), /"x" in it is a link/],
    ['a device', 'a.tar', () => tarFile([['x', { kind: '3' }]]), /"x" in it is no file/],
    ['a way out', 'a.tar', () => tarFile([['../x', 'x']]), /"\.\.\/x" in it is no name of a file below a\//],
    ['a way out', 'a.zip', () => named('b/../../x'), /it is damaged \(invalid relative path/],
    ['a root', 'a.tar', () => tarFile([['/etc/x', 'x']]), /"\/etc\/x" in it is no name/],
    ['a control', 'a.zip', () => named('a\u0007'), /in it is no name/],
    ['deep', 'a.zip', () => named('b/'.repeat(40) + 'x'), /lies in more than 32 folders/],
    [
      'twice',
      'a.zip',
      () =>
        zipFile([
          ['x', '1'],
          ['x', '2'],
        ]),
      /"x" is in it twice/,
    ],
    ['nested', 'a.zip', () => named('b.tar.gz'), /"b\.tar\.gz" in it is an archive itself: drop each/],
    [
      'many files',
      'a.zip',
      () => zipFile(FLOWERS),
      /it has more than 2 files: unpack it, and send/,
      { files: 2 },
    ],
    ['many bytes', 'a.zip', () => zipFile(FLOWERS), /hold more than 0\.000005 MB: unpack it/, { bytes: 5 }],
    [
      'a bomb',
      'a.zip',
      () => zipFile([['x', Buffer.alloc(900_000)]]),
      /hold more than 200 times as much/,
      { bytesOfAnyRatio: 0 },
    ],
    ['slow', 'a.zip', () => zipFile(FLOWERS), /its 0\.000\d+ MB are not unpacked within 780 s: unpack it/],
  ])('for %s', async (what, name, body, ...[why, bounds = {}]) => {
    world.put({ [name]: body(), 'b/1.jpg': 'one' });
    let at = 0;
    const clock = (): number => (what === 'slow' ? (at += 400_000) : 0);
    const note = await unpack(name, { bounds, clock, apart: ['a/l.csv'] });
    expect(note).toMatchObject({ state: 'archiveRefused', bundles: [] });
    expect(note?.why).toMatch(why);
    expect(world.store.keys(incoming)).toEqual([incoming + name, `${incoming}b/1.jpg`].sort());
    expect(await world.run()).toMatchObject({ samples: 1, rejections: { byReason: { archiveRefused: 1 } } });
  });

  function flipped(bytes: Buffer, at: number): Buffer {
    bytes.writeUInt8(bytes.readUInt8(at) ^ 1, at);
    return bytes;
  }
});

it('a zip of many blocks is read by ranges', async () => {
  const files = Array.from(
    { length: 12 },
    (_, n) => [`c/${n}.bin`, { body: Buffer.alloc(900_000, n), method: 0 }] as const,
  );
  world.put({ 'large.zip': zipFile(files) });
  const asked: number[] = [];
  const store = dyingStore({
    over: {
      get: (key, options) => {
        if (key.endsWith('.zip')) asked.push(options?.range?.length ?? Number.POSITIVE_INFINITY);
        return world.store.get(key, options);
      },
    },
  });
  expect(await unpack('large.zip', { store })).toMatchObject({ files: 12 });
  expect(Math.max(...asked)).toBe(8 * 1024 * 1024);
  expect(asked.length).toBeLessThanOrEqual(3);
});
