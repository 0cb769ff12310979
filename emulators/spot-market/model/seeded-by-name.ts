/** Randomness that is a function of names: equal seeds give equal markets, whatever the order of the questions. */

/** FNV-1a with a final mix; 32 bits. */
export function hash(...parts: readonly (string | number)[]): number {
  let state = 0x811c9dc5;
  for (const part of parts) {
    for (const character of `${part}|`) {
      state = Math.imul(state ^ (character.codePointAt(0) ?? 0), 0x01000193);
    }
  }
  state = Math.imul(state ^ (state >>> 16), 0x85ebca6b);
  state = Math.imul(state ^ (state >>> 13), 0xc2b2ae35);
  return (state ^ (state >>> 16)) >>> 0;
}

/** Uniform in [0, 1). */
export const uniform = (...parts: readonly (string | number)[]): number => hash(...parts) / 2 ** 32;

/** Exponential with the given mean. */
export const exponential = (mean: number, ...parts: readonly (string | number)[]): number =>
  -mean * Math.log(1 - uniform(...parts));

/** A whole number from minimum to maximum, both included. */
export const between = (minimum: number, maximum: number, ...parts: readonly (string | number)[]): number =>
  minimum + (hash(...parts) % (maximum - minimum + 1));
