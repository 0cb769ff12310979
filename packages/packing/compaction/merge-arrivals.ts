/** Merges the sorted arrivals of several generations. The result holds each arrival, a key with one ETag, once. */

import type { BlobStore } from '../documents/blob-store.ts';
import type { Manifest, SealedLine } from '../documents/manifest.ts';
import { arrivalOf } from '../documents/order.ts';
import type { Rejection } from '../documents/rejections.ts';
import { byArrival, inOrder, listingsOf, sealedLines } from '../documents/sealed-lines.ts';
import type { ArrivalsWriter } from '../seal/audit.ts';
import type { LeftOutArrival } from './superseded-samples.ts';

export interface GenerationArrivals {
  readonly manifest: Manifest;
  /** New shard of each old shard, by their numbers. */
  readonly shardOf: ReadonlyMap<number, number>;
  /** Arrivals of samples that are left out, by `arrivalOf`. */
  readonly leftOut: ReadonlyMap<string, LeftOutArrival>;
}

export interface MergeInput {
  readonly all: readonly GenerationArrivals[];
  /** Version of the annotations that the joined manifest names. */
  readonly newest: string | undefined;
  /** When the listings of all generations began, oldest first. */
  readonly listings: readonly string[];
}

/** The lines of one generation as the joined generation will hold them, in order. */
async function* linesFrom(
  store: BlobStore,
  { manifest, shardOf, leftOut }: GenerationArrivals,
  { newest, listings }: Pick<MergeInput, 'newest' | 'listings'>,
): AsyncGenerator<SealedLine> {
  const mine = manifest.annotations?.version;
  const listed = listingsOf(manifest).map((at) => Math.max(0, listings.indexOf(at)));
  for await (const [key, etag, size, outcome, written, listing = 0] of sealedLines(store, manifest)) {
    const at = listed[listing] ?? 0;
    if (typeof outcome === 'number') {
      const left = leftOut.get(arrivalOf(key, etag));
      if (left === undefined)
        yield shortest([key, etag, size, shardOf.get(outcome) ?? neverAssigned(key)], at);
      else if (left.reason !== 'replaced' && left.reason !== 'removed')
        yield shortest([key, etag, size, left.reason, left.sum], at);
    } else {
      const note = noteOf(outcome, { written: written ?? undefined, mine, newest });
      yield shortest([key, etag, size, outcome, note], at);
    }
  }
}

/** Without the fields at its end that have nothing to say. */
function shortest([key, etag, size, outcome, note]: SealedLine, listing: number): SealedLine {
  if (listing > 0) return [key, etag, size, outcome, note ?? null, listing];
  return note === undefined ? [key, etag, size, outcome] : [key, etag, size, outcome, note];
}

/** The version of the annotations under which a label was missing, the ETag of the packed object, or a sum. */
function noteOf(
  outcome: Rejection,
  {
    written,
    mine,
    newest,
  }: {
    readonly written: string | undefined;
    readonly mine: string | undefined;
    readonly newest: string | undefined;
  },
): string | undefined {
  if (outcome === 'unchanged' || outcome === 'retracted') return written;
  if (outcome !== 'labelMissing' && outcome !== 'labelDoubled') return undefined;
  const version = written ?? mine;
  return version === newest ? undefined : version;
}

function neverAssigned(key: string): never {
  throw new Error(`the shard that holds ${JSON.stringify(key)} was not joined`);
}

/**
 * An arrival that was rejected for its label and packed later is in two lists. Packed wins over rejected, and the
 * later of two rejections wins, but a retraction wins over what the same objects were before.
 */
export async function mergeArrivals(
  store: BlobStore,
  writer: ArrivalsWriter,
  input: MergeInput,
): Promise<number> {
  let written = 0;
  let held: SealedLine | undefined;
  const write = async (line: SealedLine): Promise<void> => {
    written += 1;
    const [key, etag, size, outcome, ...rest] = line;
    if (typeof outcome === 'number') await writer.packed(line);
    else await writer.rejected([key, etag, size, outcome, ...rest]);
  };
  for await (const { line } of inOrder(input.all.map((one) => linesFrom(store, one, input)))) {
    if (held !== undefined && byArrival(held, line) === 0) held = preferred(held, line);
    else {
      if (held !== undefined) await write(held);
      held = line;
    }
  }
  if (held !== undefined) await write(held);
  return written;
}

/** @param second the line of the later generation */
function preferred(first: SealedLine, second: SealedLine): SealedLine {
  if (typeof first[3] === 'number' && typeof second[3] === 'number')
    throw new Error(`${JSON.stringify(first[0])} of ETag ${first[1]} is packed in two generations`);
  return typeof first[3] === 'number' || first[3] === 'retracted' ? first : second;
}
