/**
 * Reads the sealed lists: the arrivals of one generation, or of several as one sorted list, and the members of one
 * shard.
 */

import { hash } from 'node:crypto';
import { Heap } from '@tidewheel/kit/heap.ts';
import { type BlobReader, type BlobStore, joinChunks } from './blob-store.ts';
import { linesOf, readableText } from './compressed-lines.ts';
import { DocumentError, type MemberLine, memberLine } from './documents.ts';
import { type Manifest, type SealedLine, sealedLine } from './manifest.ts';
import { compareKeys } from './order.ts';
import { type PackingKeys, packingKeys } from './packing-keys.ts';

/** In order. @throws DocumentError */
export async function* sealedLines(store: BlobReader, manifest: Manifest): AsyncGenerator<SealedLine> {
  for (const part of manifest.arrivals.parts)
    for (const text of linesOf(await sealedText(store, manifest, part)))
      yield sealedLine.parse(JSON.parse(text));
}

/**
 * The lines of one part of a generation's sealed arrivals. Other lines would pack objects twice, or not at all.
 * @throws DocumentError
 */
export async function sealedText(
  store: BlobReader,
  { pipeline, generation }: Pick<Manifest, 'pipeline' | 'generation'>,
  { list, sha256 }: Manifest['arrivals']['parts'][number],
): Promise<string> {
  const { generation: folder, repair } = packingKeys(pipeline, generation);
  const key = `${folder}${list}`;
  const found = await store.get(key);
  if (found.kind !== 'found')
    throw new DocumentError(
      `${key} is gone: restore it from an older version of the object or from a copy, or run ${repair}`,
    );
  const text = readableText(joinChunks(found.chunks));
  if (hash('sha256', text) !== sha256)
    throw new DocumentError(
      `${key} is not the sealed list: restore it from an older version of the object or from a copy, or run ${repair}`,
    );
  return text;
}

/** Of a line that an earlier release joined. */
export const UNKNOWN_TIME = new Date(0).toISOString();

/** When the listings began that its arrivals come from, ISO 8601. Earlier releases did not note them when they joined. */
export const listingsOf = ({
  compacted,
  listedAt,
}: Pick<Manifest, 'compacted' | 'listedAt'>): readonly string[] =>
  compacted === undefined ? [listedAt] : (compacted.listings ?? [UNKNOWN_TIME]);

export const byArrival = (a: SealedLine, b: SealedLine): number =>
  compareKeys(a[0], b[0]) || compareKeys(a[1], b[1]);

interface Cursor {
  readonly lines: AsyncGenerator<SealedLine>;
  readonly age: number;
  line: SealedLine;
}

interface AgedLine {
  readonly line: SealedLine;
  /** Index of its list. */
  readonly age: number;
}

/** The lines of sorted lists as one sorted list. Of equal arrivals, the line of the first list comes first. */
export async function* inOrder(all: readonly AsyncGenerator<SealedLine>[]): AsyncGenerator<AgedLine> {
  const open: Cursor[] = [];
  for (const [age, lines] of all.entries()) {
    const first = await lines.next();
    if (first.done !== true) open.push({ lines, age, line: first.value });
  }
  const heap = new Heap(open, before);
  for (let least = heap.least; least !== undefined; least = heap.least) {
    yield { line: least.line, age: least.age };
    await step(heap, least);
  }
}

async function step(heap: Heap<Cursor>, cursor: Cursor): Promise<void> {
  const next = await cursor.lines.next();
  if (next.done === true) heap.drop();
  else {
    cursor.line = next.value;
    heap.sink();
  }
}

/** Of equal arrivals, that of the oldest generation is first. */
const before = (a: Cursor, b: Cursor): number => byArrival(a.line, b.line) || a.age - b.age;

/** @throws DocumentError if it is not the list that was sealed */
export async function memberLines(
  store: BlobStore,
  keys: PackingKeys,
  shard: Manifest['shards'][number],
): Promise<MemberLine[]> {
  const key = `${keys.generation}${shard.memberList}`;
  const found = await store.get(key);
  const text = found.kind === 'found' ? readableText(joinChunks(found.chunks)) : '';
  if (hash('sha256', text) !== shard.memberListSha256)
    throw new DocumentError(
      `${key} is not the sealed list: restore it from an older version of the object, or run ${keys.repair}`,
    );
  return [...linesOf(text)].map((line) => memberLine.parse(JSON.parse(line)));
}
