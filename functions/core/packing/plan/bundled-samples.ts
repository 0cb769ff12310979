/** Which samples lie beside each other in a bundle, so that one request can read them. */

import { GrowingNumbers } from '../../shared/growing-numbers.ts';
import { bundlePlace, cellOf } from '../arrivals/bundle-place.ts';
import type { Neighbours } from './assign-samples.ts';

export class BundledSamples {
  readonly #groups = new GrowingNumbers();
  readonly #offsets = new GrowingNumbers();
  /** By bundle and cell; numbers from 1 on. */
  readonly #numbers = new Map<string, number>();

  /** @param etag of the sample's first member: the others lie behind it */
  add(ordinal: number, etag: string): void {
    const place = bundlePlace(etag);
    if (place === undefined) return;
    const cell = `${place.bundle}:${cellOf(place)}`;
    const group = this.#numbers.get(cell) ?? this.#numbers.size + 1;
    this.#numbers.set(cell, group);
    this.#groups.set(ordinal, group);
    this.#offsets.set(ordinal, place.offset);
  }

  /**
   * Undefined if no sample lies in a bundle.
   * @param samples how many there are. Copies that balance the classes have the numbers above, and no neighbours.
   */
  neighboursOf(samples: number): Neighbours | undefined {
    if (this.#numbers.size === 0) return undefined;
    return {
      groupOf: (ordinal) => (ordinal < samples ? this.#groups.at(ordinal) : 0),
      offsetOf: (ordinal) => this.#offsets.at(ordinal),
    };
  }
}
