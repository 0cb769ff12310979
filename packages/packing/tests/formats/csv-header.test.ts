/** Headers of CSV files as people's programs write them. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import * as fc from 'fast-check';
import { expect, it } from 'vitest';
import { PIPELINE, packAll, RUN, settings } from '../../../../test/support/builders/packing.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { csvHeaderIn, hasHeader, headerDifference, rowsAfter } from '../../formats/csv-header.ts';

const rowsIn = (text: string | Buffer): string => {
  const head = Buffer.from(text);
  return head.subarray(rowsAfter(head, csvHeaderIn(head) ?? '')).toString();
};

it.each([
  ['a newline', 'x,y\n1,2\n', 'x,y\n'],
  ['both characters', 'x,y\r\n1,2\n', 'x,y\n'],
  ['a carriage return', 'x,y\r1,2\n', 'x,y\n'],
  ['a newline after one in quotes', '"x\nx",y\n1,2\n', '"x\nx",y\n'],
  ['a newline after doubled quotes', '"x""\n",y\n1,2\n', '"x""\n",y\n'],
  ['a newline after a byte-order mark', '\ufeffx,y\n1,2\n', 'x,y\n'],
])('a header ends at %s', (_end, text, header) => {
  expect(csvHeaderIn(Buffer.from(text))).toBe(header);
  expect(rowsIn(text)).toBe('1,2\n');
});

it('a source may have nothing but a header', () => {
  for (const text of ['x,y', 'x,y\n', 'x,y\r', 'x,y\r\n']) expect(rowsIn(text)).toBe('');
});

it('a header comes in any pieces', () => {
  const text = Buffer.from('"a\r\nb",c\r\n1,2\r\n');
  fc.assert(
    fc.property(fc.nat(text.length), (end) => {
      const isThere = hasHeader(text.subarray(0, end));
      // The carriage return alone does not say whether a newline follows.
      expect(isThere).toBe(end >= '"a\r\nb",c\r\n'.length);
    }),
  );
});

it.each([
  ['of another encoding', Buffer.from('größe,x\n1,2\n', 'latin1')],
  ['in UTF-16', Buffer.from('\ufeffx,y\n1,2\n', 'utf16le')],
  ['with an open quote', Buffer.from('"x,y\n1,2\n')],
  ['longer than is looked at', Buffer.from(`${'x,'.repeat(200_000)}y\n1,2\n`)],
])('a header %s is rejected', async (_kind, body) => {
  const store = new MemoryBlobStore();
  store.seed(`${bucketKeys.incoming(PIPELINE)}a.csv`, body);
  const packing = settings({ format: 'lines', lines: { kind: 'csv', header: 'perShard' } });
  expect(await packAll(store, packing)).toMatchObject({ samples: 0, rejected: 1 });
  store.seed(`${bucketKeys.incoming(PIPELINE)}b.csv`, 'x,y\n1,2\n');
  expect(await packAll(store, packing, 'digits-000002')).toMatchObject({ samples: 1, rejected: 0 });
  expect(store.body(`${bucketKeys.shards(PIPELINE, 'digits-000002')}shard-000000.csv`).toString()).toBe(
    'x,y\n1,2\n',
  );
  expect(store.keys(bucketKeys.shards(PIPELINE, RUN))).toEqual([]);
});

it('a difference names the columns', () => {
  expect(headerDifference('a,b,c\n', 'a,b\n')).toBe('it has "c" more');
  expect(headerDifference('a\n', 'a,b\n')).toBe('it lacks "b"');
  expect(headerDifference('b;a\n', 'a;b\n')).toBe('its columns are in another order');
  expect(headerDifference('1,2,3,4,5,6,7', 'x')).toMatch(/"5" and 2 others more and it lacks "x"$/);
});
