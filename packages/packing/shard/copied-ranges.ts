/** The ranges in which the store copies a source. */

import type { PartSource, SumKind, UploadedPart } from '../documents/blob-store.ts';
import type { PlannedMember } from '../documents/documents.ts';
import { startSum } from '../formats/running-sum.ts';

/**
 * From a byte of the source to its end. The ranges have about the same size, because the last one must not be too small.
 * @param most bytes of a range
 */
export function rangesOf({ key, etag, size }: PlannedMember, from: number, most: number): PartSource[] {
  const each = Math.ceil((size - from) / Math.ceil((size - from) / most));
  const ranges: PartSource[] = [];
  for (let offset = from; offset < size; offset += each)
    ranges.push({ key, etag, offset, length: Math.min(each, size - offset) });
  return ranges;
}

/** The checksum of all ranges together, in base64. */
export function sumOfRanges(
  kind: SumKind,
  ranges: readonly PartSource[],
  parts: readonly UploadedPart[],
): string {
  const sum = startSum(kind);
  for (const [index, part] of parts.entries()) sum.append(part[kind] ?? '', ranges[index]?.length ?? 0);
  return sum.base64;
}
