/** Which files of a finished run have expired. A run's report, models and generation never do. */
import { type Retention, retentionSchema } from '../pipeline/retention.ts';
import { EXPIRING, type Expiring, type RunRecord } from './run-records.ts';

/** Of a run that failed before its declaration was pinned. */
const DEFAULTS = retentionSchema.parse({});

const DAY_MILLISECONDS = 86_400_000;

export interface Expiry {
  /** Expired and not yet noted as deleted. */
  readonly due: readonly Expiring[];
  /** Objects that changed later are kept, whatever the record says. */
  readonly before: Readonly<Record<Expiring, Date>>;
  /** Whether nothing is left to expire, now or later, once the due parts are deleted. */
  readonly isLast: boolean;
}

/** @param run a finished run */
export function expiryOf(run: RunRecord, now: Date): Expiry {
  const retention = run.declaration?.retention ?? DEFAULTS;
  const before = (part: Expiring): Date =>
    part === 'checkpoints' && isDeletionAsked(run)
      ? now
      : daysBefore(now, daysOf(part, run.status, retention));
  const left = EXPIRING.filter((part) => run.expired?.includes(part) !== true);
  const due = left.filter((part) => new Date(run.updatedAt) < before(part));
  return {
    due,
    before: { work: before('work'), checkpoints: before('checkpoints'), source: before('source') },
    isLast: left.every((part) => due.includes(part) || daysOf(part, run.status, retention) === 'forever'),
  };
}

/** A request that a retry has overtaken counts for nothing: that run's checkpoints are younger. */
const isDeletionAsked = ({ checkpointDeletion, updatedAt }: RunRecord): boolean =>
  checkpointDeletion !== undefined && checkpointDeletion.at >= updatedAt;

function daysOf(part: Expiring, status: RunRecord['status'], retention: Retention): Retention['workDays'] {
  switch (part) {
    case 'work':
      return retention.workDays;
    case 'checkpoints':
      return status === 'succeeded' ? retention.checkpointDays : retention.failedCheckpointDays;
    case 'source':
      return retention.sourceDays;
  }
}

const daysBefore = (now: Date, days: Retention['workDays']): Date =>
  new Date(days === 'forever' ? 0 : now.getTime() - days * DAY_MILLISECONDS);
