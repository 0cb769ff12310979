/** Whether CSV sources that were packed without a header begin with one after all: it would train as a row. */
import { type BlobStore, joinChunks } from '../documents/blob-store.ts';
import type { MemberLine } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { memberLines } from '../documents/sealed-lines.ts';

const MOST_SOURCES = 20;
const HEAD_BYTES = 16 * 1024;
const LONGEST_SHOWN = 200;

export interface HeaderLines {
  /** Sources of this generation that were looked at. */
  readonly looked: number;
  /** Those whose first line looks like a header. */
  readonly alike: number;
  readonly example: { readonly key: string; readonly line: string };
}

/** Undefined where nothing looks like a header. Reads the beginnings of some sources. */
export async function headerLines(store: BlobStore, manifest: Manifest): Promise<HeaderLines | undefined> {
  const { kind, csvHeader, droppedHeader } = manifest.schema;
  if (kind !== 'csv' || (csvHeader ?? droppedHeader) !== undefined) return undefined;
  const heads = await headsOf(store, manifest);
  const [first] = heads;
  const areSame = heads.length > 1 && heads.every(({ line }) => line === first?.line);
  const found = heads.filter(({ line, next }) => isAboveNumbers(line, next) || (areSame && isNames(line)));
  const [example] = found;
  if (example === undefined) return undefined;
  const line = example.line.slice(0, LONGEST_SHOWN).toWellFormed();
  return { looked: heads.length, alike: found.length, example: { key: example.key, line } };
}

interface Head {
  readonly key: string;
  readonly line: string;
  readonly next: string;
}

async function headsOf(store: BlobStore, manifest: Manifest): Promise<Head[]> {
  const keys = packingKeys(manifest.pipeline, manifest.generation);
  const each = Math.ceil(MOST_SOURCES / Math.max(1, manifest.shards.length));
  const heads: Head[] = [];
  for (const shard of manifest.shards.slice(0, MOST_SOURCES))
    for (const line of firstOf(await memberLines(store, keys, shard), each)) {
      const range = { offset: line.offset, length: Math.min(line.size, HEAD_BYTES) };
      const found = await store.get(`${keys.shards(manifest.revision)}${shard.name}`, { range });
      if (found.kind !== 'found') continue;
      const text = Buffer.from(joinChunks(found.chunks))
        .toString()
        .replace(/^\uFEFF/, '');
      const [first = '', next = ''] = text.split(/\r\n|\n|\r/, 2);
      heads.push({ key: line.key ?? '', line: first, next });
    }
  return heads;
}

const firstOf = (lines: readonly MemberLine[], count: number): MemberLine[] =>
  lines.filter(({ repeat, size }) => repeat === undefined && size > 0).slice(0, count);

const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;

const isNumber = (cell: string): boolean => NUMBER.test(cell);

/** By the delimiter that makes most of it. */
function cellsOf(line: string): string[] {
  const ways = [',', ';', '\t', '|'].map((delimiter) => line.split(delimiter));
  const most = ways.reduce((a, b) => (b.length > a.length ? b : a));
  return most.map((cell) => cell.trim().replace(/^"(.*)"$/, '$1'));
}

/** Different names, none of them a number. The index of pandas has none. */
function isNames(line: string): boolean {
  const cells = cellsOf(line);
  const named = cells.slice(cells[0] === '' ? 1 : 0);
  const isEach = named.length > 0 && named.every((cell) => cell !== '' && !isNumber(cell));
  return isEach && new Set(cells).size === cells.length;
}

const isAboveNumbers = (line: string, next: string): boolean =>
  isNames(line) && cellsOf(next).length === cellsOf(line).length && cellsOf(next).some(isNumber);
