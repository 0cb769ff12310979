import * as fc from 'fast-check';

const STEPS = 2 ** 20;

/**
 * Numbers from `min` to `max`, evenly spread, the ends included. `fc.double` draws evenly among representable numbers: of
 * 0 to 24 nine in ten lie below a thousandth, so that a property of hours, slack or shares is tried at zero only.
 */
export const evenly = (min: number, max: number): fc.Arbitrary<number> =>
  fc.integer({ min: 0, max: STEPS }).map((step) => min + ((max - min) * step) / STEPS);
