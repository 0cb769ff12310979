/** Randomness that is a function of names: equal seeds give equal markets, in whatever order they are queried. */
import { randomBelow, seededUint32, seededUniform } from '@tidewheel/kit/seeded-random.ts';

type Names = readonly (string | number)[];

/** As many numbers in [0, 1) as are drawn. */
export const uniformOf = (...names: Names): (() => number) => seededUniform(names.join('|'));

/** Uniform in [0, 1). */
export const uniform = (...names: Names): number => uniformOf(...names)();

/** Exponential with the given mean. */
export const exponential = (mean: number, ...names: Names): number => -mean * Math.log(1 - uniform(...names));

/** A whole number from minimum to maximum, both included. */
export const between = (minimum: number, maximum: number, ...names: Names): number =>
  minimum + randomBelow(seededUint32(names.join('|')), maximum - minimum + 1);
