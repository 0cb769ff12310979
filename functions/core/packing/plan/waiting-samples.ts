/** Samples that a later run packs, because one of their objects cannot be read yet. */
import type { ListedBlob } from '../model/blob-store.ts';
import type { Deferral } from '../model/rejections.ts';
import { GrowingNumbers } from './growing-numbers.ts';

const ARCHIVED = 1;

export interface Waiting {
  readonly reason: Deferral;
  /** When the last object of the sample arrived, in seconds since 1970. */
  readonly since: number;
}

/** Samples are known by their numbers. A sample waits as a whole. */
export class WaitingSamples {
  readonly #marks = new GrowingNumbers();
  readonly #arrived = new GrowingNumbers();
  #isAnyArchived = false;

  add(sample: number, { lastModified, archived }: ListedBlob): void {
    const at = Math.floor(Date.parse(lastModified) / 1_000);
    if (at > this.#arrived.at(sample)) this.#arrived.set(sample, at);
    if (archived !== true) return;
    this.#isAnyArchived = true;
    this.#marks.set(sample, ARCHIVED);
  }

  get isAny(): boolean {
    return this.#isAnyArchived;
  }

  of(sample: number): Waiting | undefined {
    if (this.#marks.at(sample) !== ARCHIVED) return undefined;
    return { reason: 'archived', since: this.#arrived.at(sample) };
  }
}
