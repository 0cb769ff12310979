/** What was measured of an attempt's start and steps, and what the doctor makes of it. */
import type { InputMode } from '../catalog/launchers/input-mode.ts';
import type { Reading } from '../doctor/reading.ts';
import type { Speed } from '../doctor/speed.ts';
import type { Verdict } from '../doctor/verdict.ts';

/** The shards that an attempt reads, and how they reach its script. */
export interface AttemptInput {
  readonly mode: InputMode;
  readonly shards: number;
  readonly bytes: number;
}

/** Seconds of the last start. */
export interface StartUp {
  /** Waiting for hosts, and preparing them. */
  readonly hosts: number;
  /** Of the shards. */
  readonly download: number;
  /** Of the training image. */
  readonly image: number;
}

/** What the doctor says of an attempt, by what the agent has measured so far. */
export interface Diagnosis {
  readonly at: string;
  /** Whether the attempt had ended, so that nothing more is measured. */
  readonly isFinal?: boolean | undefined;
  readonly speed?: Speed | undefined;
  readonly reading?: Reading | undefined;
  /** The most worthwhile first. */
  readonly verdicts: readonly Verdict[];
}
