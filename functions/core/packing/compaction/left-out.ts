/** Samples that a compaction does not join. */

/**
 * `replaced`: a newer generation holds the whole sample. `sampleIncomplete`: a correction that lacks members of the
 * sample it would replace.
 */
export const LEFT_OUT = ['replaced', 'sampleIncomplete'] as const;
export type LeftOut = (typeof LEFT_OUT)[number];

/** Of one generation, by the number of the sample. */
export type LeftOutSamples = ReadonlyMap<number, LeftOut>;
