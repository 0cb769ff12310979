/** Merges the sorted arrivals of several generations. The result holds each arrival, a key with one ETag, once. */

import type { BlobStore } from '../model/blob-store.ts';
import type { Manifest, SealedLine } from '../model/manifest.ts';
import { arrivalOf } from '../model/order.ts';
import type { Rejection } from '../model/rejections.ts';
import { byArrival, inOrder, sealedLines } from '../model/sealed-lines.ts';
import type { ArrivalsWriter } from '../seal/audit.ts';
import type { LeftOut } from './left-out.ts';

export interface GenerationArrivals {
  readonly manifest: Manifest;
  /** New shard of each old shard, by their numbers. */
  readonly shardOf: ReadonlyMap<number, number>;
  /** Arrivals of samples that are left out, by `arrivalOf`. */
  readonly leftOut: ReadonlyMap<string, LeftOut>;
}

/** The lines of one generation as the joined generation will hold them, in order. */
async function* linesFrom(
  store: BlobStore,
  { manifest, shardOf, leftOut }: GenerationArrivals,
  newest: string | undefined,
): AsyncGenerator<SealedLine> {
  const mine = manifest.annotations?.version;
  for await (const [key, etag, size, outcome, annotationsVersion] of sealedLines(store, manifest)) {
    if (typeof outcome === 'number') {
      const reason = leftOut.get(arrivalOf(key, etag));
      if (reason === undefined) yield [key, etag, size, shardOf.get(outcome) ?? neverAssigned(key)];
      else if (reason !== 'replaced' && reason !== 'removed') yield [key, etag, size, reason];
    } else {
      const last = lastField(outcome, { written: annotationsVersion, mine, newest });
      yield last === undefined ? [key, etag, size, outcome] : [key, etag, size, outcome, last];
    }
  }
}

/** The version of the annotations under which a label was missing, or the ETag of the packed object. */
function lastField(
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
  if (outcome === 'unchanged') return written;
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
 * @param newest version of the annotations that the joined manifest names
 */
export async function mergeArrivals(
  store: BlobStore,
  writer: ArrivalsWriter,
  { all, newest }: { readonly all: readonly GenerationArrivals[]; readonly newest: string | undefined },
): Promise<number> {
  let written = 0;
  let held: SealedLine | undefined;
  const write = async ([key, etag, size, outcome, annotationsVersion]: SealedLine): Promise<void> => {
    written += 1;
    if (typeof outcome === 'number') await writer.packed([key, etag, size, outcome]);
    else
      await writer.rejected(
        annotationsVersion === undefined
          ? [key, etag, size, outcome]
          : [key, etag, size, outcome, annotationsVersion],
      );
  };
  for await (const { line } of inOrder(all.map((one) => linesFrom(store, one, newest)))) {
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
