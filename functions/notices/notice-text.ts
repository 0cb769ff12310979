/** What a person reads: what happened, what it has cost, and the next command. */
import { attemptCost } from '@tidewheel/placement/records.ts';
import type { AttemptRecord } from '../records/run-records.ts';
import type { NoticeEvent } from './notice-event.ts';

export interface NoticeText {
  /** One line, without a full stop. */
  readonly title: string;
  readonly lines: readonly string[];
  /** For a shell in the clone. */
  readonly command: string;
}

/** Scripts and labels write into reasons. A message of SNS has 256 KB, one of Discord 2,000 characters. */
const LONGEST_REASON = 500;
const MOST_RANKS = 8;

/** @param attempts all of the run */
export function noticeText(event: NoticeEvent, attempts: readonly AttemptRecord[]): NoticeText {
  const { runId } = event.detail;
  const spent = attempts.reduce((sum, each) => sum + attemptCost(each), 0);
  const costs = SAYS_ITS_COST.has(event['detail-type']) ? [] : [`Ended attempts have cost ${usd(spent)}`];
  return {
    title: titleOf(event, attempts),
    lines: [...linesOf(event), ...costs],
    command: `npx --no-install tidewheel ${VERBS[event['detail-type']]} ${runId}`,
  };
}

const SAYS_ITS_COST: ReadonlySet<NoticeEvent['detail-type']> = new Set([
  'RunFinished',
  'RunStopped',
  'BudgetNearlySpent',
]);

const VERBS = {
  RunFinished: 'model get',
  RunFailed: 'logs',
  RunStopped: 'retry',
  AttemptInterrupted: 'why',
  CheckpointStalled: 'logs',
  ScriptHangs: 'logs',
  DoctorVerdict: 'doctor',
  BudgetNearlySpent: 'watch',
  DeadlineInDanger: 'why',
  DeadlineSafe: 'watch',
  ModelPromoted: 'model get',
  ModelRejected: 'model show',
  ModelRolledBack: 'model get',
} as const satisfies Record<NoticeEvent['detail-type'], string>;

function titleOf(event: NoticeEvent, attempts: readonly AttemptRecord[]): string {
  const { runId } = event.detail;
  switch (event['detail-type']) {
    case 'RunFinished':
      return `${runId} has finished`;
    case 'RunFailed':
      return `${runId} has failed`;
    case 'RunStopped':
      return `${runId} was stopped`;
    case 'AttemptInterrupted':
      return `${runId} has been interrupted ${interruptionsUpTo(attempts, event.detail.attempt)} times`;
    case 'CheckpointStalled':
      return `${runId} saves no checkpoint`;
    case 'ScriptHangs':
      return `The script of ${runId} hangs`;
    case 'DoctorVerdict':
      return `What holds ${runId} back: ${plain(event.detail.cause)}`;
    case 'BudgetNearlySpent': {
      const { costUsd, budgetUsd } = event.detail;
      return `${runId} has spent ${Math.floor((100 * costUsd) / budgetUsd)} % of its budget`;
    }
    case 'DeadlineInDanger':
      return `${runId} will probably miss its deadline`;
    case 'DeadlineSafe':
      return `${runId} will probably keep its deadline after all`;
    case 'ModelPromoted':
      return `The model of ${runId} is in use`;
    case 'ModelRejected':
      return `The model of ${runId} is rejected`;
    case 'ModelRolledBack':
      return `The model of ${runId} is in use again, instead of that of ${event.detail.from}`;
  }
}

function linesOf(event: NoticeEvent): readonly string[] {
  switch (event['detail-type']) {
    case 'RunFinished': {
      const { costUsd, onDemandUsd, modelUri } = event.detail;
      const model = modelUri === undefined ? [] : [`Model: ${modelUri}`];
      return [`Cost ${usd(costUsd)}; On-Demand it would have been ${usd(onDemandUsd)}`, ...model];
    }
    case 'RunFailed':
    case 'AttemptInterrupted':
      return [plain(event.detail.reason)];
    case 'RunStopped':
      return [`By ${plain(event.detail.requestedBy)}`, `Cost ${usd(event.detail.costUsd)}`];
    case 'CheckpointStalled': {
      const { attempt, step, ageSeconds } = event.detail;
      const minutes = Math.round(ageSeconds / 60);
      return [`Attempt ${attempt} has saved nothing for ${minutes} minutes; step ${step} is safe`];
    }
    case 'ScriptHangs':
      return hangLines(event.detail);
    case 'DoctorVerdict':
      return remedyOf(event.detail);
    case 'BudgetNearlySpent':
      return [`${usd(event.detail.costUsd)} of ${usd(event.detail.budgetUsd)}`];
    case 'DeadlineInDanger':
    case 'DeadlineSafe':
      return [`Deadline ${event.detail.deadlineAt}; expected end ${event.detail.expectedAt}`];
    case 'ModelPromoted':
    case 'ModelRejected':
    case 'ModelRolledBack':
      return [`By ${plain(event.detail.by)}: ${plain(event.detail.reason)}`];
  }
}

function hangLines({
  host,
  since,
  kind,
  ranks = [],
}: (NoticeEvent & { 'detail-type': 'ScriptHangs' })['detail']): string[] {
  const what = kind === 'noSteps' ? 'computes and makes no step' : 'neither computes nor prints';
  return [`On ${plain(host)} it ${what} since ${since}`, ...ranks.slice(0, MOST_RANKS).map(plain)];
}

function remedyOf({
  remedy,
  gainUsd,
}: (NoticeEvent & { 'detail-type': 'DoctorVerdict' })['detail']): string[] {
  if (remedy === undefined) return [];
  const isGain = gainUsd !== undefined && gainUsd.low >= 0;
  const gain = isGain ? `, which saves ${usd(gainUsd.low)} to ${usd(gainUsd.high)}` : '';
  return [`Remedy: ${plain(remedy)}${gain}`];
}

/** Interruptions of the run up to and including this attempt's, whose own record may not say so yet. */
export const interruptionsUpTo = (attempts: readonly AttemptRecord[], attempt: number): number =>
  1 + attempts.filter(({ status, attempt: number }) => status === 'interrupted' && number < attempt).length;

const usd = (amount: number): string => `$${amount.toFixed(amount < 1 ? 4 : 2)}`;

/** One line: what a script wrote must not look like lines of ours. */
function plain(text: string): string {
  const line = text.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]+/gu, ' ').trim();
  return line.length > LONGEST_REASON ? `${line.slice(0, LONGEST_REASON)} …` : line;
}
