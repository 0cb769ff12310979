/** The document of a quality report. The page shows the same. */
import type { Dots } from '../documents/documents.ts';
import type { LeftArrivals } from '../documents/manifest.ts';
import type { HeaderLines } from './header-lines.ts';
import type { Tally } from './tally.ts';

export interface ClassRow {
  readonly name: string;
  /** Arrived in this generation, where `balance` counted it. */
  readonly arrived?: number;
  /** Samples in this generation, and further copies of them. */
  readonly packed: number;
  readonly copies: number;
  /** Samples in the version before and in this one, and their shares of all samples with a label. */
  readonly before: number;
  readonly now: number;
  readonly shareBefore: number;
  readonly shareNow: number;
}

export interface RejectedExample {
  readonly key: string;
  readonly size: number;
  /** Only of a member of a bundle, which is read by it. */
  readonly etag?: string;
}

export type RejectedExamples = Readonly<Record<string, readonly RejectedExample[]>>;

/** Samples of the same bytes. */
export interface DuplicateGroup {
  /** First half of the SHA-256 of the largest member. */
  readonly digest: string;
  readonly samples: number;
  readonly keys: readonly string[];
  readonly labels: readonly string[];
}

interface Duplicates {
  /** Samples whose bytes another sample of this generation has, beyond the first of each group. */
  readonly within: number;
  /** Samples whose bytes an earlier generation of the version has. */
  readonly earlier: number;
  /** Groups in this generation whose samples have different labels. */
  readonly conflicting: number;
  readonly examples: readonly DuplicateGroup[];
}

interface NearRow {
  readonly images: number;
  readonly isLowerBound: boolean;
  /** The first key is of this generation. A digest stands for an image of another one. */
  readonly examples: readonly (readonly [string, string])[];
}

export interface SplitRows {
  /** Samples of each split in this generation and in the version, and its share of the version. */
  readonly counts: readonly {
    readonly name: string;
    readonly packed: number;
    readonly copies: number;
    readonly now: number;
    readonly share: number;
  }[];
  /** Samples of `split` in the version whose bytes `other` holds under another key. */
  readonly leaks: readonly {
    readonly split: string;
    readonly other: string;
    readonly samples: number;
    /** Keys of this generation; a digest stands for a sample of another one. */
    readonly examples: readonly string[];
  }[];
}

export interface Shift {
  readonly what: string;
  readonly before: number;
  readonly now: number;
}

export interface QualityReport {
  readonly version: 1;
  readonly pipeline: string;
  readonly generation: string;
  /** The generations that this one is compared with. */
  readonly before: readonly string[];
  readonly now: readonly string[];
  readonly arrivals: {
    readonly objects: number;
    readonly packed: number;
    readonly rejected: number;
    /** Left to the next run. */
    readonly deferred: number;
  };
  /** Arrivals that were rejected or left, without those that are no loss to their owner. Absent if there are none. */
  readonly notTrainedOn?: {
    readonly objects: number;
    readonly of: number;
    /** Most first. */
    readonly byReason: Readonly<Record<string, number>>;
    /** A key of the first reason. */
    readonly example?: string;
  };
  /** Archives of which no file is packed, and why. Absent if there are none. */
  readonly refusedArchives?: readonly { readonly key: string; readonly why: string }[];
  /** Joins without a declaration, and dots that join nothing. */
  readonly dots?: Dots;
  /** Why arrivals were left, with S3's code of unreadable ones. At most ten examples of each reason. */
  readonly left?: LeftArrivals;
  /** Images of this generation that were left as they came, by column, where others were prepared. */
  readonly unprepared: Readonly<Record<string, number>>;
  readonly generationTally: Tally;
  readonly versionTally: Tally;
  /** Mean and standard deviation of the version's prepared images, from 0 to 1. */
  readonly channels?: { readonly mean: readonly number[]; readonly std: readonly number[] };
  /** Absent if the labels are no classes. */
  readonly classes?: readonly ClassRow[];
  /** Groups of classes that a person would read as the same, such as `Cat` and `cat`. Absent if there are none. */
  readonly alike?: readonly (readonly string[])[];
  /** CSV sources that seem to have headers, although the declaration says that they have none. */
  readonly headers?: HeaderLines;
  /** Absent if the samples are not split. */
  readonly splits?: SplitRows;
  readonly duplicates: Duplicates;
  /** Other pipelines of the bucket that hold the bytes of samples of this generation. */
  readonly shared: readonly { readonly pipeline: string; readonly samples: number }[];
  /** Pipelines of the bucket without a report to compare with. */
  readonly notCompared: readonly string[];
  /** Absent if no images were prepared. */
  readonly near?: NearRow;
  readonly rejections: {
    readonly byReason: Readonly<Record<string, number>>;
    readonly examples: RejectedExamples;
  };
  readonly drift: {
    /** The classes whose shares changed most, in percentage points. */
    readonly classes: readonly Shift[];
    /** Medians that changed by more than a tenth, in bytes, pixels, seconds or counts. */
    readonly medians: readonly Shift[];
  };
  /** What `packing.hold` holds training back for, in sentences. */
  readonly held: readonly string[];
  /** Those of them that count only what came with this run. Absent of earlier releases. */
  readonly heldOfRun?: readonly string[];
}
