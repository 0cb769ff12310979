/** What the commands of `tidewheel data` print, and the keys that they are given. */

import { belowIncoming, bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { printable } from '@tidewheel/kit/command-line.ts';
import { quotedIfNeeded } from '@tidewheel/kit/quoted.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';

/** Prints a line for a person. */
export type PrintLine = (line: string) => void;

export interface DatasetRequest {
  readonly store: BlobStore;
  readonly pipeline: string;
  readonly generation: string | undefined;
  /** All words behind the address. */
  readonly words: readonly string[];
  readonly over: readonly string[];
  readonly replaced: boolean;
  /** A repair gives the generation up. */
  readonly giveUp: boolean;
  readonly dryRun: boolean;
  /** Where `show` and `sample` write. */
  readonly out: string | undefined;
  /** How many samples `show` and `find` take. */
  readonly most: number;
  /** Says nothing with --json. */
  readonly tell: PrintLine;
}

/** The exit code; and what was found out, for --json, unless it was nothing. */
export type Outcome = number | { readonly code: number; readonly document: object };

export const found = (document: object, code = 0): Outcome => ({ code, document });

/** @returns the exit code */
export const complain = (line: string): number => {
  process.stderr.write(`✗ ${printable(line)}\n`);
  return 1;
};

/** A key may hold anything that a terminal would obey. */
export const shownSampleKey = (pipeline: string, key: string): string =>
  quotedIfNeeded(belowIncoming(pipeline, key));

/** @param word a key of the bucket, or below incoming/ */
export function incomingKey(pipeline: string, word: string): string {
  const incoming = bucketKeys.incoming(pipeline);
  return word.startsWith(incoming) ? word : `${incoming}${word}`;
}
