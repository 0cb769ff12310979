/** Samples that a compaction does not join. */

/**
 * `replaced`: a newer generation holds the whole sample. `correctionIncomplete`: a correction that lacks members of the
 * sample it would replace. `retracted`: a user asked for it. `removed`: the owner deleted an object of it.
 */
export const LEFT_OUT = ['replaced', 'correctionIncomplete', 'retracted', 'removed'] as const;
export type LeftOut = (typeof LEFT_OUT)[number];

export interface LeftOutArrival {
  readonly reason: LeftOut;
  /** Of retracted bytes, as of retracted-bytes.ts. */
  readonly sum: string | undefined;
}

/** Of one generation, by the number of the sample. */
export type LeftOutSamples = ReadonlyMap<number, LeftOut>;
