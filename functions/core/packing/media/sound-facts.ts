/** What the header of audio or video says. */
export interface SoundFacts {
  readonly seconds?: number;
  /** Samples per second of audio, frames per second of video. */
  readonly rate?: number;
}

const rounded = (value: number): number => Math.round(value * 1e3) / 1e3;

/** Without what is not known: units of 0, or none per second. */
export const lasting = (units: number, perSecond: number): SoundFacts =>
  perSecond > 0 && units > 0 && Number.isFinite(units / perSecond)
    ? { seconds: rounded(units / perSecond) }
    : {};

export const atRate = (perSecond: number): SoundFacts =>
  perSecond > 0 && Number.isFinite(perSecond) ? { rate: rounded(perSecond) } : {};

/** Undefined if nothing is known. */
export const known = (facts: SoundFacts): SoundFacts | undefined =>
  facts.seconds === undefined && facts.rate === undefined ? undefined : facts;
