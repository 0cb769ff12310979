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
  TrainingNotNeeded: 'why',
  AttemptInterrupted: 'why',
  CheckpointStalled: 'logs',
  ScriptHangs: 'logs',
  DoctorVerdict: 'doctor',
  BudgetNearlySpent: 'watch',
  DeadlineInDanger: 'why',
  DeadlineSafe: 'watch',
  ModelEvaluated: 'model show',
  HandOverDelayed: 'why',
  ModelPromoted: 'model get',
  ModelRejected: 'model show',
  ModelRolledBack: 'model get',
} as const satisfies Record<NoticeEvent['detail-type'], string>;

type ModelEvent = Extract<
  NoticeEvent,
  {
    'detail-type':
      | 'ModelEvaluated'
      | 'ModelPromoted'
      | 'ModelRejected'
      | 'ModelRolledBack'
      | 'HandOverDelayed';
  }
>;
const isOfModel = (event: NoticeEvent): event is ModelEvent => /^(Model|HandOver)/.test(event['detail-type']);

const ENDS = {
  RunFinished: 'has finished',
  RunFailed: 'has failed',
  RunStopped: 'was stopped',
  TrainingNotNeeded: 'did not have to train',
} as const;
type EndEvent = Extract<NoticeEvent, { 'detail-type': keyof typeof ENDS }>;
const isOfEnd = (event: NoticeEvent): event is EndEvent => Object.hasOwn(ENDS, event['detail-type']);

function titleOf(event: NoticeEvent, attempts: readonly AttemptRecord[]): string {
  if (isOfModel(event)) return modelTitle(event);
  const { runId } = event.detail;
  if (isOfEnd(event)) return `${runId} ${ENDS[event['detail-type']]}`;
  switch (event['detail-type']) {
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
  }
}

function modelTitle(event: ModelEvent): string {
  if (event['detail-type'] === 'HandOverDelayed')
    return `${event.detail.registry} does not know the models of ${event.detail.pipeline}`;
  const { 'detail-type': type, detail } = event;
  const model = `The model of ${detail.runId}`;
  switch (type) {
    case 'ModelEvaluated':
      return `${model} is a candidate`;
    case 'ModelPromoted':
      return `${model} is in use`;
    case 'ModelRejected':
      return `${model} is rejected`;
    case 'ModelRolledBack':
      return `${model} is in use again, instead of that of ${detail.from}`;
  }
}

function linesOf(event: NoticeEvent): readonly string[] {
  if (isOfModel(event)) return [modelReason(event)];
  if (isOfEnd(event)) return endLines(event);
  switch (event['detail-type']) {
    case 'AttemptInterrupted':
      return [plain(event.detail.reason)];
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
  }
}

function endLines(event: EndEvent): readonly string[] {
  switch (event['detail-type']) {
    case 'RunFinished': {
      const { costUsd, onDemandUsd, modelUri } = event.detail;
      const cost = `Cost ${usd(costUsd)}; On-Demand it would have been ${usd(onDemandUsd)}`;
      return [cost, ...modelLine(modelUri)];
    }
    case 'RunFailed':
    case 'TrainingNotNeeded':
      return [plain(event.detail.reason)];
    case 'RunStopped':
      return [`By ${plain(event.detail.requestedBy)}`, `Cost ${usd(event.detail.costUsd)}`];
  }
}

function modelReason({ 'detail-type': type, detail }: ModelEvent): string {
  const who = type === 'HandOverDelayed' ? '' : `By ${plain(detail.by)}: `;
  return `${who}${plain(detail.reason)}`;
}

const modelLine = (uri: string | undefined): string[] => (uri === undefined ? [] : [`Model: ${uri}`]);

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
