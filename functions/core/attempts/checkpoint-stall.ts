/**
 * Whether checkpoints have stopped coming while a job trains: silence here has cost users days of training. Judged by
 * the progress note in the bucket, so a save that never arrives there counts as none, whatever the host says of it.
 */
import type { Progress } from '../runs/run-records.ts';

export interface StallQuestion {
  /** Since when the job trains without a break; undefined while it does not. */
  readonly trainingSince?: Date | undefined;
  /** The newest that the bucket proves, of this attempt or one before it. */
  readonly progress?: Progress | undefined;
  /** How often the job was told to save. */
  readonly intervalSeconds: number;
  readonly now: Date;
}

export interface Stall {
  readonly step: number;
  /** Since the last checkpoint, or since training began. */
  readonly ageSeconds: number;
  readonly expectedSeconds: number;
}

/** A checkpoint has a step to end, a save and an upload before it; big ones take minutes. */
const LEAST_PATIENCE_SECONDS = 900;
const PATIENCE_INTERVALS = 3;
/** Nobody knows how long a script that was never seen to save takes to its first. */
const FIRST_PATIENCE_SECONDS = 3_600;

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
