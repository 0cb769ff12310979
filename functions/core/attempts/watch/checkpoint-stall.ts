/**
 * Whether checkpoints have stopped while a job trains; unnoticed stalls have cost users days of training. The progress
 * note in the bucket decides, so a save that does not reach the bucket does not count.
 */
import type { Progress } from '../../placement/attempts.ts';

export interface StallQuestion {
  /** Start of uninterrupted training; undefined while the job does not train. */
  readonly trainingSince?: Date | undefined;
  /** The newest progress that the bucket proves, of this attempt or an earlier one. */
  readonly progress?: Progress | undefined;
  /** The interval between checkpoints that the job received. */
  readonly intervalSeconds: number;
  readonly now: Date;
}

export interface Stall {
  readonly step: number;
  /** Time since the last checkpoint, or since training began. */
  readonly ageSeconds: number;
  readonly expectedSeconds: number;
}

/** A checkpoint waits for the end of a step, a save and an upload. Big ones take minutes. */
const LEAST_PATIENCE_SECONDS = 900;
const PATIENCE_INTERVALS = 3;
/** The time to the first checkpoint of a new script is unknown. The agent's stall_watch.py has the same. */
const FIRST_PATIENCE_SECONDS = 1_800;

export function checkpointStall(question: StallQuestion): Stall | undefined {
  const { trainingSince, progress, intervalSeconds, now } = question;
  if (trainingSince === undefined) return undefined;
  const saved = progress === undefined ? Number.NaN : Date.parse(progress.updatedAt);
  const since = Number.isNaN(saved) ? trainingSince.getTime() : Math.max(saved, trainingSince.getTime());
  const ageSeconds = Math.round((now.getTime() - since) / 1_000);
  const usual = Math.max(LEAST_PATIENCE_SECONDS, PATIENCE_INTERVALS * intervalSeconds);
  const patience = progress === undefined ? Math.max(FIRST_PATIENCE_SECONDS, usual) : usual;
  if (ageSeconds < patience) return undefined;
  return { step: progress?.step ?? 0, ageSeconds, expectedSeconds: intervalSeconds };
}
