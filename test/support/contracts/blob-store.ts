/** What every BlobStore promises: run for the fake in the unit tests, for real servers in the integration tests. */

import { sumOf } from '@tidewheel/packing/checksums.ts';
import {
  type BlobStore,
  joinChunks,
  listPages,
  type OpenUpload,
  SUM_KINDS,
} from '@tidewheel/packing/store.ts';
import { expect, it } from 'vitest';

/** Keys that break careless clients; each must come back from a listing, and be readable, as it is. */
export const HOSTILE_KEYS: readonly string[] = [
  'plain.txt',
  'with space.txt',
  'plus+sign.txt',
  'percent%41.txt',
  'quote\'"`.txt',
  'amp&<tag>.xml',
  'ünïcödé/日本語.png',
  'emoji 😀🏳️‍🌈.jpg',
  'right\u202eto-left.png',
  'a=b;c,d:e@f!g$h(i)*j.txt',
  'back\\slash.txt',
  'pipe|caret^brace{}[].txt',
  'question?hash#.txt',
  '.hidden',
  'no-dot',
  'many.dots.in.name.tar.gz',
  'tilde~file.txt',
  `${'long/'.repeat(150)}${'n'.repeat(200)}.bin`,
  '\uffee-after-surrogates-in-utf16.txt',
  '\u{1f600}-before-it-in-utf16.txt',
];

export interface ContractOptions {
  readonly open: () => BlobStore;
  /** Keys that the server under test is known to refuse or to change, with the reason in the test that says so. */
  readonly hostileKeys?: readonly string[];
  /** False for a server that ignores If-Match on DeleteObject. */
  readonly conditionalDelete?: boolean;
  /** False for a server that fails on completing an upload that is gone (moto 5.2.5 answers 500). */
  readonly knowsGoneUploads?: boolean;
  /** False for a server that does not say what it copied, nor minds the version (moto 5.2.5). */
  readonly checksCopies?: boolean;
  /** False for a server that knows no address for a key with line ends (moto 5.2.5 answers 404). */
  readonly takesLineEnds?: boolean;
}

const bytesOf = async (store: BlobStore, key: string): Promise<string | undefined> => {
  const found = await store.get(key);
  return found.kind === 'found' ? Buffer.from(joinChunks(found.chunks)).toString() : undefined;
};

async function keysUnder(store: BlobStore, prefix: string, maximum = 1_000): Promise<string[]> {
  const keys: string[] = [];
  for await (const page of listPages(store, prefix, { maximum }))
    keys.push(...page.objects.map(({ key }) => key));
  return keys;
}

const sendPart = (store: BlobStore, upload: OpenUpload, number: number, body: Buffer) =>
  store.uploadPart(upload, { number, sum: sumOf(upload.sum, body) }, body);

export function describesBlobStore(options: ContractOptions): void {
  const { open, hostileKeys = HOSTILE_KEYS } = options;

  it('returns what was put, whole and by range', async () => {
    const store = open();
    const put = await store.put('round/trip', Buffer.from('0123456789'));
    expect(put.kind).toBe('written');
    expect(await bytesOf(store, 'round/trip')).toBe('0123456789');
    const part = await store.get('round/trip', { range: { offset: 3, length: 4 } });
    expect(part.kind === 'found' && Buffer.from(joinChunks(part.chunks)).toString()).toBe('3456');
    expect((await store.head('round/trip'))?.size).toBe(10);
  });

  it('keeps empty objects', async () => {
    const store = open();
    await store.put('empty', new Uint8Array());
    const found = await store.get('empty');
    expect(found).toMatchObject({ kind: 'found', size: 0 });
  });

  it('answers for what is not there', async () => {
    const store = open();
    expect(await store.get('nothing')).toEqual({ kind: 'missing' });
    expect(await store.head('nothing')).toBeUndefined();
    expect(await store.delete('nothing')).toBe('deleted');
  });

  it('reads only the version asked for', async () => {
    const store = open();
    await store.put('versions', Buffer.from('one'));
    const first = await store.head('versions');
    await store.put('versions', Buffer.from('two'));
    expect(await store.get('versions', { ifMatch: first?.etag ?? '' })).toEqual({ kind: 'changed' });
    const now = await store.head('versions');
    expect((await store.get('versions', { ifMatch: now?.etag ?? '' })).kind).toBe('found');
  });

  it('lets one of many racing writers create an object', async () => {
    const store = open();
    const racers = Array.from({ length: 8 }, (_, racer) =>
      store.put('race', Buffer.from(`racer ${racer}`), { only: 'absent' }),
    );
    const written = (await Promise.all(racers)).filter(({ kind }) => kind === 'written');
    expect(written).toHaveLength(1);
  });

  it('replaces only the version named', async () => {
    const store = open();
    await store.put('swap', Buffer.from('old'));
    const old = await store.head('swap');
    const etag = old?.etag ?? '';
    expect((await store.put('swap', Buffer.from('new'), { only: { etag } })).kind).toBe('written');
    expect((await store.put('swap', Buffer.from('late'), { only: { etag } })).kind).toBe('refused');
    expect(await bytesOf(store, 'swap')).toBe('new');
  });

  it('lists unchanged keys by UTF-8 bytes, page by page', async () => {
    const store = open();
    for (const key of hostileKeys) await store.put(`hostile/${key}`, Buffer.from(key));
    const sorted = [...hostileKeys]
      .map((key) => `hostile/${key}`)
      .sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect(await keysUnder(store, 'hostile/')).toEqual(sorted);
    expect(await keysUnder(store, 'hostile/', 3)).toEqual(sorted);
    for (const key of hostileKeys) expect(await bytesOf(store, `hostile/${key}`)).toBe(key);
  });

  it('lists from a key on, and folders by delimiter', async () => {
    const store = open();
    for (const key of ['f/a/1', 'f/a/2', 'f/b/1', 'f/c']) await store.put(key, Buffer.from('x'));
    const after = await store.listPage('f/', { startAfter: 'f/a/2' });
    expect(after.objects.map(({ key }) => key)).toEqual(['f/b/1', 'f/c']);
    const folders = await store.listPage('f/', { delimiter: '/' });
    expect(folders.prefixes).toEqual(['f/a/', 'f/b/']);
    expect(folders.objects.map(({ key }) => key)).toEqual(['f/c']);
  });

  it('shows a multipart upload once it is complete', async () => {
    const store = open();
    const upload = await store.createUpload('multi', 'crc32');
    const large = Buffer.alloc(5 * 1024 * 1024, 'a');
    const parts = [
      await sendPart(store, upload, 1, large),
      await sendPart(store, upload, 2, Buffer.from('end')),
    ];
    expect(await store.head('multi')).toBeUndefined();
    expect(await store.completeUpload(upload, parts)).toHaveProperty('etag');
    expect((await store.head('multi'))?.size).toBe(large.length + 3);
    await store.completeUpload(upload, parts);
    expect((await store.head('multi'))?.size).toBe(large.length + 3);
  });

  const checksCopies = options.checksCopies ?? true;
  it.runIf(checksCopies).each(SUM_KINDS)('copies a range of a named version as a part (%s)', async (sum) => {
    const store = open();
    const least = 5 * 1024 * 1024;
    const source = Buffer.concat([Buffer.from('head'), Buffer.alloc(least, 'b'), Buffer.from('end')]);
    const key = 'copy/of +ü%.txt';
    await store.put(key, source);
    const etag = (await store.head(key))?.etag ?? '';
    const upload = await store.createUpload('copied', sum);
    const range = { key, etag, offset: 4, length: source.length - 4 };
    const [first, gone, other] = [
      await store.copyPart(upload, { number: 1 }, range),
      await store.copyPart(upload, { number: 2 }, { ...range, key: 'copy/nothing' }),
      await store.copyPart(upload, { number: 2 }, { ...range, etag: '0'.repeat(32) }),
    ];
    expect([first.kind, gone.kind, other.kind]).toEqual(['copied', 'missing', 'changed']);
    const last = await sendPart(store, upload, 2, Buffer.from('!'));
    const parts = first.kind === 'copied' ? [first.part, last] : [];
    expect(parts[0]?.[sum]).toBe(sumOf(sum, source.subarray(4)));
    await store.completeUpload(upload, parts);
    const whole = Buffer.concat([source.subarray(4), Buffer.from('!')]);
    expect(await bytesOf(store, 'copied')).toBe(whole.toString());
  });

  it.runIf(!checksCopies)('knows the checksum of a copied part', async () => {
    const store = open();
    await store.put('copy/source', Buffer.from('0123456789'));
    const etag = (await store.head('copy/source'))?.etag ?? '';
    const upload = await store.createUpload('copied', 'crc32');
    const range = { key: 'copy/source', etag, offset: 0, length: 10 };
    expect(await store.copyPart(upload, { number: 1 }, range)).toEqual({ kind: 'unchecked' });
    await store.abortUpload(upload);
  });

  it('drops an aborted upload', async () => {
    const store = open();
    const upload = await store.createUpload('dropped', 'crc32');
    const part = await sendPart(store, upload, 1, Buffer.from('x'));
    await store.abortUpload(upload);
    await store.abortUpload(upload);
    expect(await store.head('dropped')).toBeUndefined();
    if (options.knowsGoneUploads === false) return;
    const completed = await store.completeUpload(upload, [part]);
    expect(completed).toBe('gone');
  });

  it('deletes many objects of any name at once', async () => {
    const store = open();
    const lineEnds = options.takesLineEnds === false ? [] : ['line\nend\r\ttab'];
    const numbered = Array.from({ length: 1_010 }, (_, k) => String(k));
    const keys = [...hostileKeys, ...lineEnds, ...numbered].map((key) => `many/${key}`);
    for (let first = 0; first < keys.length; first += 100)
      await Promise.all(keys.slice(first, first + 100).map((key) => store.put(key, Buffer.from('x'))));
    await store.put('many', Buffer.from('kept'));
    expect(await store.deleteMany([...keys, 'many/that was never there'])).toEqual([]);
    expect(await keysUnder(store, 'many')).toEqual(['many']);
    expect(await store.deleteMany([])).toEqual([]);
  });

  it.runIf(options.conditionalDelete ?? true)('deletes only the version named', async () => {
    const store = open();
    await store.put('doomed', Buffer.from('old'));
    const old = (await store.head('doomed'))?.etag ?? '';
    await store.put('doomed', Buffer.from('new'));
    expect(await store.delete('doomed', old)).toBe('changed');
    const now = (await store.head('doomed'))?.etag ?? '';
    expect(await store.delete('doomed', now)).toBe('deleted');
    expect(await store.head('doomed')).toBeUndefined();
  });
}
