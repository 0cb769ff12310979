/** Counts copies of samples in member lists; the members of a copy follow each other. */
import type { MemberLine } from '../model/documents.ts';

export class CopyCounter {
  #last = '';
  count = 0;

  add(shard: number | string, { sample, repeat }: Pick<MemberLine, 'sample' | 'repeat'>): void {
    const copy = repeat === undefined ? '' : `${shard}/${sample}/${repeat}`;
    if (copy !== '' && copy !== this.#last) this.count += 1;
    this.#last = copy;
  }
}
