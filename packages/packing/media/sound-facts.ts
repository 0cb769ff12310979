/** What the header of audio or video says. */
export interface SoundFacts {
  readonly seconds?: number;
  /** Samples per second of audio, frames per second of video. */
  readonly rate?: number;
}

/** In thousandths; undefined for what is less, or no number. */
function rounded(units: number, perSecond: number): number | undefined {
  const value = Math.round((1e3 * units) / perSecond) / 1e3;
  return value > 0 && Number.isFinite(value) ? value : undefined;
}

/** Without what is not known: units of 0, or none per second. */
export function lasting(units: number, perSecond: number): SoundFacts {
  const seconds = rounded(units, perSecond);
  return seconds === undefined ? {} : { seconds };
}

export function atRate(perSecond: number): SoundFacts {
  const rate = rounded(perSecond, 1);
  return rate === undefined ? {} : { rate };
}

/** Undefined if nothing is known. */
export const known = (facts: SoundFacts): SoundFacts | undefined =>
  facts.seconds === undefined && facts.rate === undefined ? undefined : facts;
