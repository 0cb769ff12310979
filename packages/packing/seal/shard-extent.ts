/**
 * Compares the bytes of a shard with the sum of its members. A body that came shorter or longer than planned leaves a
 * shard whose headers and bytes disagree, and readers such as Python's tarfile end there without an error.
 */

import type { MemberLine } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import type { ShardFormat } from '../documents/shard-format.ts';
import { formatOf } from '../formats/formats.ts';
import { AuditError } from './audit.ts';

type Sealed = Pick<Manifest, 'format' | 'compression'>;
type Shard = Pick<Manifest['shards'][number], 'name' | 'bytes'>;

/** Takes the lines of one shard's member list in order. */
export class ShardExtent {
  readonly #format: ShardFormat;
  readonly #shard: Shard;
  readonly #isGzipped: boolean;
  /** Bytes that the members take, where they follow from names and sizes. */
  #planned = 0;
  /** The end of the members so far, and of those of the samples before. */
  #end = 0;
  #before = 0;
  #sample = '';

  constructor(sealed: Sealed, shard: Shard) {
    this.#format = formatOf(sealed);
    this.#shard = shard;
    this.#isGzipped = sealed.compression === 'gzip';
  }

  /** @throws AuditError if the member overlaps a sample before, or does not follow where nothing may lie between */
  add({ name, offset, size, sample, repeat = 0 }: MemberLine): void {
    const id = `${sample}~${repeat}`;
    if (id !== this.#sample) {
      this.#before = this.#end;
      this.#sample = id;
    }
    const isFirst = this.#end === 0;
    this.#planned += this.#format.plannedBytes(name, size);
    const follows =
      this.#format.takes === 'files' && !isFirst ? offset === this.#end : offset >= this.#before;
    const isColumnar = this.#format.takes === 'samples' && this.#format.isColumnar === true;
    if (!follows && !isColumnar)
      throw this.#error(`${name} lies at ${offset}, but what is before it ends at ${this.#end}`);
    this.#end = Math.max(this.#end, offset + size);
  }

  /** @throws AuditError */
  finish(): void {
    const { bytes } = this.#shard;
    const frames = this.#format.memberFrames;
    const expected = frames === undefined ? this.#end : this.#planned + frames.end.length;
    const isExact = frames !== undefined || this.#format.takes === 'files';
    if (this.#isGzipped || (isExact ? bytes === expected : bytes >= expected)) return;
    throw this.#error(`its members take ${expected} bytes, but it has ${bytes}`);
  }

  #error(what: string): AuditError {
    return new AuditError(`shard ${this.#shard.name}`, what);
  }
}

/** @throws AuditError */
export function checkExtent(sealed: Sealed, shard: Shard, lines: Iterable<MemberLine>): void {
  const extent = new ShardExtent(sealed, shard);
  for (const line of lines) extent.add(line);
  extent.finish();
}
