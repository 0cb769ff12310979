/** The ranges in which the store copies a source. */
import type { PartSource, UploadedPart } from '../model/blob-store.ts';
import type { PlannedMember } from '../model/documents.ts';
import { combineCrc32 } from './crc-combine.ts';
import { crcOf } from './shard-upload.ts';

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

/** CRC-32 of what came before together with the copied ranges. */
export const crcWith = (crc: number, ranges: readonly PartSource[], parts: readonly UploadedPart[]): number =>
  parts.reduce((sum, part, index) => combineCrc32(sum, crcOf(part), ranges[index]?.length ?? 0), crc);
