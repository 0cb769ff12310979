/**
 * A retraction holds for bytes, not for an ETag: a copy, another part size or a KMS key gives the same bytes another
 * one. The retracted arrival keeps a sum of its bytes. The plan reads an object that comes under its key with its size,
 * and compares it.
 */
import { createHash } from 'node:crypto';
import { readArrival } from '../arrivals/read-arrival.ts';
import {
  type BlobStore,
  kindsIn,
  type ListedBlob,
  type SourceRead,
  SUM_KINDS,
  sourceFailure,
} from '../documents/blob-store.ts';
import { contentOf, type MemberLine } from '../documents/documents.ts';
import { keptSum, startSum } from './running-sum.ts';

export interface Retracted {
  readonly etag: string;
  readonly size: number;
  /** Of sumOfSource. Earlier releases noted none. */
  readonly sum: string | undefined;
}

export const DIGEST = 'sha256';

/** The sum of the object that a member was made from, with its kind. */
export function sumOfSource(line: MemberLine): string {
  const [kind] = line.source === undefined ? kindsIn(line) : [];
  return `${kind ?? DIGEST} ${line.source?.sha256 ?? contentOf(line)}`;
}

/** Sums of two kinds cannot be compared. */
export const kindOfSum = (sum: string): string => sum.slice(0, sum.indexOf(' '));

/** Whether an object has the bytes of one of these. The worker says why an object cannot be read. */
export async function holdsRetracted(
  store: BlobStore,
  object: ListedBlob,
  retracted: readonly Retracted[],
): Promise<boolean> {
  const sums = retracted.flatMap(({ size, sum }) => (size === object.size && sum !== undefined ? [sum] : []));
  if (sums.length === 0) return false;
  const found = await sumsIn(store, object, new Set(sums.map(kindOfSum)));
  return found.some((sum) => sums.includes(sum));
}

const LINE_END = Buffer.from('\n');

/** An object may be larger than the memory. */
const READ_BYTES = 16 * 1024 * 1024;

async function sumsIn(
  store: BlobStore,
  object: ListedBlob,
  kinds: ReadonlySet<string>,
): Promise<readonly string[]> {
  const sums = await sumsOfPieces(object.size, kinds, (range) =>
    object.size <= READ_BYTES
      ? readArrival(store, object)
      : store.get(object.key, { ifMatch: object.etag, range }).catch(sourceFailure),
  );
  return sums ?? [];
}

/**
 * All sums of these kinds that packing may note of such bytes, and the digest.
 * @param read one piece after the other
 * @returns undefined if one of them cannot be read
 */
export async function sumsOfPieces(
  size: number,
  kinds: ReadonlySet<string>,
  read: (range: { readonly offset: number; readonly length: number }) => Promise<SourceRead>,
): Promise<readonly string[] | undefined> {
  const digest = createHash(DIGEST);
  const sums = SUM_KINDS.filter((kind) => kinds.has(kind)).map(startSum);
  for (let offset = 0; offset < size; offset += READ_BYTES) {
    const piece = await read({ offset, length: Math.min(READ_BYTES, size - offset) });
    if (piece.kind !== 'found') return undefined;
    for (const chunk of piece.chunks) {
      digest.update(chunk);
      for (const sum of sums) sum.add(chunk);
    }
  }
  const found = (): string[] => [
    `${DIGEST} ${digest.copy().digest('hex')}`,
    ...sums.map((sum) => `${sum.kind} ${keptSum(sum)[sum.kind] ?? ''}`),
  ];
  const asListed = found();
  // Packing ends the last line of a text file where it has no end.
  digest.update(LINE_END);
  for (const sum of sums) sum.add(LINE_END);
  return [...asListed, ...found()];
}
