/**
 * Balances the classes if the pipeline declares it: small classes get copies, or large classes lose samples. The seed
 * decides which.
 */
import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import { shuffled } from '@tidewheel/kit/seeded-random.ts';

export interface ClassedSamples {
  readonly count: number;
  /** Undefined for a sample without a class, which stays as it is. */
  classOf(ordinal: number): string | undefined;
}

export interface Balance {
  /** The samples to be copied, once for each copy, ascending. */
  readonly copies: Uint32Array;
  readonly leftOut: ReadonlySet<number>;
  /** Samples of each class before and after. */
  readonly classes: Readonly<Record<string, { readonly samples: number; readonly planned: number }>>;
}

export const MOST_CLASSES = 10_000;
/** Most copies of one sample. A class that needs more has too few samples to learn from. */
const MOST_COPIES = 1_000;
/** Ten thousand small classes beside a large one would need billions of copies. */
export const MOST_COPIES_IN_ALL = 10_000_000;

function membersOf(samples: ClassedSamples): Map<string, number[]> {
  const classes = new Map<string, number[]>();
  for (let ordinal = 0; ordinal < samples.count; ordinal += 1) {
    const name = samples.classOf(ordinal);
    if (name === undefined) continue;
    const members = classes.get(name);
    if (members !== undefined) members.push(ordinal);
    else classes.set(name, [ordinal]);
    if (classes.size > MOST_CLASSES) {
      throw new ConfigurationError(
        `packing.balance found more than ${MOST_CLASSES} classes: remove it, or choose the classes with packing.label`,
      );
    }
  }
  return classes;
}

/** How many copies make a class of this size as large as the target. */
export const copiesFor = (size: number, target: number): number =>
  Math.min(Math.max(0, target - size), size * MOST_COPIES);

function refuseTooMany(sizes: readonly number[], target: number): void {
  const copies = sizes.reduce((sum, size) => sum + copiesFor(size, target), 0);
  if (copies > MOST_COPIES_IN_ALL)
    throw new ConfigurationError(
      `packing.balance is "over", which would make ${copies} copies so that ${sizes.length} classes have ${target} samples each, but ${MOST_COPIES_IN_ALL} is the maximum: write under, or remove it`,
    );
}

export function balance(samples: ClassedSamples, mode: 'over' | 'under', seed: string): Balance {
  const classes = membersOf(samples);
  const sizes = [...classes.values()].map(({ length }) => length);
  const target = sizes.reduce((a, b) => (mode === 'over' ? Math.max(a, b) : Math.min(a, b)), sizes[0] ?? 0);
  refuseTooMany(sizes, target);
  const copies: number[] = [];
  const leftOut = new Set<number>();
  const counts: [string, { samples: number; planned: number }][] = [];
  for (const [name, members] of classes) {
    const order = shuffled(members, `${seed}/balance/${name}`);
    for (const ordinal of order.slice(target)) leftOut.add(ordinal);
    const missing = copiesFor(members.length, target);
    for (let copy = 0; copy < missing; copy += 1) copies.push(order[copy % order.length] ?? 0);
    counts.push([name, { samples: members.length, planned: Math.min(members.length, target) + missing }]);
  }
  return { copies: Uint32Array.from(copies).sort(), leftOut, classes: Object.fromEntries(counts) };
}

/** Index of the sample's first copy, and the number of its copies. */
export function copiesOf(copies: Uint32Array, ordinal: number): { first: number; count: number } {
  let first = 0;
  for (let end = copies.length; first < end; ) {
    const middle = (first + end) >>> 1;
    if ((copies[middle] ?? 0) < ordinal) first = middle + 1;
    else end = middle;
  }
  let count = 0;
  while (copies[first + count] === ordinal) count += 1;
  return { first, count };
}
