/** What every ObjectStore does: run on the fake and on S3. */
import type { ListedObject, ObjectStore } from '@tidewheel/kit/object-store.ts';
import { describe, expect, it } from 'vitest';

async function all(listing: AsyncIterable<ListedObject>): Promise<ListedObject[]> {
  const objects: ListedObject[] = [];
  for await (const object of listing) objects.push(object);
  return objects;
}

/** More than one page of ListObjectsV2, which holds at most 1,000 keys. */
const MANY = 1_105;

/** @param open a store under a prefix of its own is not needed: every test uses its own keys */
export function objectStoreContract(name: string, open: () => Promise<ObjectStore>): void {
  describe(`${name} as an ObjectStore`, () => {
    it('reads back what was written last, whatever the text', async () => {
      const store = await open();
      await store.writeText('read/a', 'first');
      await store.writeText('read/a', 'zweite, ütf-8 \u{1F30A}\n');
      expect((await store.readText('read/a'))?.text).toBe('zweite, ütf-8 \u{1F30A}\n');
    });

    it('reads an empty object as empty, not as missing', async () => {
      const store = await open();
      await store.writeText('read/empty', '');
      expect((await store.readText('read/empty'))?.text).toBe('');
    });

    it('answers undefined for an object that is not there', async () => {
      expect(await (await open()).readText('read/nothing')).toBeUndefined();
    });

    it('reads no object beyond the length asked for', async () => {
      const store = await open();
      await store.writeText('long/a', 'x'.repeat(100_000));
      expect((await store.readText('long/a', 100_000))?.text).toHaveLength(100_000);
      expect(await store.readText('long/a', 99_999)).toBeUndefined();
      expect((await store.readText('long/a'))?.text).toHaveLength(100_000);
    });

    it('gives the same bare ETag in reads and listings', async () => {
      const store = await open();
      await store.writeText('etag/a', 'content');
      const read = await store.readText('etag/a');
      const [listed] = await all(store.list('etag/'));
      expect(read?.etag).toMatch(/^[0-9a-f]{32}$/);
      expect(listed).toMatchObject({ key: 'etag/a', size: 7, etag: read?.etag });
    });

    it('gives the same second in reads and listings', async () => {
      const store = await open();
      await store.writeText('date/a', 'content');
      const read = await store.readText('date/a');
      const [listed] = await all(store.list('date/'));
      const secondOf = (date: Date | undefined) => Math.floor(Number(date) / 1_000);
      expect(secondOf(read?.lastModified)).toBe(secondOf(listed?.lastModified));
    });

    it('deletes an object, also when there is none', async () => {
      const store = await open();
      await store.writeText('delete/a', 'x');
      await store.delete('delete/a');
      await store.delete('delete/a');
      expect(await store.readText('delete/a')).toBeUndefined();
    });

    it('dates an object by its writing', async () => {
      const store = await open();
      await store.writeText('date/a', 'x');
      const [listed] = await all(store.list('date/'));
      expect(listed?.lastModified).toBeInstanceOf(Date);
      expect(listed?.lastModified.getTime()).toBeGreaterThan(0);
    });

    it('creates only where nothing is', async () => {
      const store = await open();
      expect(await store.createText('create/a', 'first')).toBe('written');
      expect(await store.createText('create/a', 'second')).toBe('exists');
      expect((await store.readText('create/a'))?.text).toBe('first');
    });

    it('replaces only the version that the caller knows', async () => {
      const store = await open();
      expect(await store.replaceText('replace/a', 'x', '"none"')).toBe('changed');
      await store.writeText('replace/a', 'first');
      const { etag = '' } = (await store.readText('replace/a')) ?? {};
      expect(await store.replaceText('replace/a', 'second', etag)).toBe('written');
      expect(await store.replaceText('replace/a', 'third', etag)).toBe('changed');
      expect((await store.readText('replace/a'))?.text).toBe('second');
    });

    it('digests an object without keeping it', async () => {
      const store = await open();
      await store.writeText('digest/a', 'abc');
      expect(await store.digestOf('digest/a')).toBe(
        'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
      );
      expect(await store.digestOf('digest/nothing')).toBeUndefined();
    });

    it('holds bytes that are no text, as they are', async () => {
      const store = await open();
      const bytes = Uint8Array.from({ length: 512 }, (_, index) => index % 256);
      expect(await store.createBytes('bytes/a', bytes)).toBe('written');
      expect(await store.createBytes('bytes/a', new Uint8Array())).toBe('exists');
      const read = await store.readBytes('bytes/a');
      const [listed] = await all(store.list('bytes/'));
      expect(Buffer.from(read?.bytes ?? []).equals(bytes)).toBe(true);
      expect(listed).toMatchObject({ size: 512, etag: read?.etag });
      expect(await store.readBytes('bytes/nothing')).toBeUndefined();
    });

    it('keeps the text of exactly one racing creator', async () => {
      const store = await open();
      const texts = Array.from({ length: 20 }, (_, index) => `creator ${index}`);
      const answers = await Promise.all(texts.map((text) => store.createText('create/race', text)));
      const winners = texts.filter((_, index) => answers[index] === 'written');
      expect(winners).toHaveLength(1);
      expect((await store.readText('create/race'))?.text).toBe(winners[0]);
    });

    it('lists every page, in the order of UTF-8 bytes', async () => {
      const store = await open();
      const keys = Array.from({ length: MANY }, (_, index) => `many/${String(index).padStart(5, '0')}`);
      for (let at = 0; at < keys.length; at += 50) {
        await Promise.all(keys.slice(at, at + 50).map((key) => store.writeText(key, 'x')));
      }
      expect((await all(store.list('many/'))).map(({ key }) => key)).toEqual(keys);
    }, 60_000);

    it('lists only the prefix, with keys of any characters', async () => {
      const store = await open();
      const keys = ['odd/a b', 'odd/a+b', 'odd/a&b=c', 'odd/ü/1', 'odd/%2F'];
      await Promise.all([...keys, 'odder/x', 'od'].map((key) => store.writeText(key, 'x')));
      const listed = (await all(store.list('odd/'))).map(({ key }) => key);
      expect([...listed].sort()).toEqual([...keys].sort());
    });

    it('names each folder directly under a prefix once', async () => {
      const store = await open();
      const keys = ['folders/b/1', 'folders/b/2', 'folders/a/deep/er/3', 'folders/loose'];
      await Promise.all(keys.map((key) => store.writeText(key, 'x')));
      expect(await store.listFolders('folders/')).toEqual(['a', 'b']);
      expect(await store.listFolders('nowhere/')).toEqual([]);
    });
  });
}
