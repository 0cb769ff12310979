/**
 * Tells the targets of a declaration what its runs do. Events come at least once and in any order. A mark in the bucket
 * keeps a target from hearing the same twice, unless the function dies between sending and marking.
 */
import { createHash } from 'node:crypto';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { NoticeKind, NotifyTarget } from '@tidewheel/declaration/pipeline.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import type { AttemptRecord, RunRecord, TimelineEntry } from '../records/run-records.ts';
import type { Stores } from '../records/stores.ts';
import {
  drainQueue,
  type PolledMessage,
  type PolledQueue,
  type Taken,
  takeEach,
} from '../run/queue-messages.ts';
import { type NoticeEvent, noticeEvent } from './notice-event.ts';
import { interruptionsUpTo, type NoticeText, noticeText } from './notice-text.ts';

/** 'refused': the other side does not take it, and would not at another try. */
export type Delivery = { readonly kind: 'delivered' } | { readonly kind: 'refused'; readonly reason: string };

/** Both reject with TransientError for what may work later. */
export interface NoticeChannels {
  publish(
    topicArn: string,
    message: { readonly subject: string; readonly message: string },
  ): Promise<Delivery>;
  /** @param secret the name of the secret that holds the address, and for a webhook of one's own the key */
  post(secret: string, body: string): Promise<Delivery>;
}

type NoticeDeps = Pick<Stores, 'runs' | 'attempts' | 'timeline'> & {
  readonly store: ObjectStore;
  readonly channels: NoticeChannels;
  readonly clock: Clock;
};

type RoundDeps = NoticeDeps & {
  /** Targets that failed in this invocation, which are not waited for again. */
  readonly down: Map<string, unknown>;
  readonly isTimeUp: () => boolean;
};

/** As the queue's redrive policy has it (serverless/events.yml). */
const MOST_TRIES = 10;

const sendNotices = (deps: RoundDeps, messages: readonly PolledMessage[]): Promise<Taken> =>
  takeEach(messages, ({ body, receives }) => sendNotice(deps, parse(body), receives >= MOST_TRIES));

function parse(body: string): NoticeEvent {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (cause: unknown) {
    throw new Error('the message is no JSON', { cause });
  }
  const parsed = noticeEvent.safeParse(value);
  if (!parsed.success) throw new Error('the message is no event of a run', { cause: parsed.error });
  return parsed.data;
}

/** Every target is tried before the first failure is thrown: one that is down must not keep the others from hearing. */
async function sendNotice(deps: RoundDeps, event: NoticeEvent, isLastTry: boolean): Promise<string[]> {
  const run = await deps.runs.get(event.detail.runId);
  if (run === undefined) return [`${event.detail.runId} is not on record`];
  const targets = run.declaration?.notify ?? [];
  if (targets.length === 0) return [];
  const attempts = await deps.attempts.list(run.runId);
  const notes: string[] = [];
  const failures: unknown[] = [];
  for (const target of targets.filter((each) => wants(each, event, attempts))) {
    try {
      notes.push(await tell(deps, run, { target, event, attempts, isLastTry }));
    } catch (error: unknown) {
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
  return notes;
}

const KINDS = {
  RunFinished: 'finished',
  RunFailed: 'failed',
  RunStopped: 'stopped',
  TrainingNotNeeded: 'finished',
  AttemptInterrupted: 'interrupted',
  CheckpointStalled: 'stalled',
  ScriptHangs: 'stalled',
  DoctorVerdict: 'doctor',
  BudgetNearlySpent: 'budget',
  DeadlineInDanger: 'deadline',
  DeadlineSafe: 'deadline',
  ModelEvaluated: 'model',
  HandOverDelayed: 'model',
  ModelPromoted: 'model',
  ModelRejected: 'model',
  ModelRolledBack: 'model',
} as const satisfies Record<NoticeEvent['detail-type'], NoticeKind>;

function wants(
  { on, afterInterruptions }: NotifyTarget,
  event: NoticeEvent,
  attempts: readonly AttemptRecord[],
): boolean {
  if (!on.includes(KINDS[event['detail-type']])) return false;
  // Nothing is to be done then.
  if (event['detail-type'] === 'DoctorVerdict') return event.detail.cause !== 'nothing-wrong';
  // Otherwise the decision comes as an event of its own.
  if (event['detail-type'] === 'ModelEvaluated') return event.detail.decision === 'waits';
  if (event['detail-type'] !== 'AttemptInterrupted') return true;
  return interruptionsUpTo(attempts, event.detail.attempt) === afterInterruptions + 1;
}

interface Telling {
  readonly target: NotifyTarget;
  readonly event: NoticeEvent;
  readonly attempts: readonly AttemptRecord[];
  readonly isLastTry: boolean;
}

async function tell(deps: RoundDeps, run: RunRecord, telling: Telling): Promise<string> {
  const { target, event } = telling;
  const id = idOf(telling);
  const mark = bucketKeys.noticeMark(run.pipeline, run.runId, id);
  const who = nameOf(target);
  if ((await deps.store.readText(mark)) !== undefined) return `${who} knows`;
  const note = (entry: Omit<TimelineEntry, 'at'>) =>
    deps.timeline.add(run.runId, { ...entry, at: deps.clock.now().toISOString() });
  if (deps.isTimeUp() && !deps.down.has(who)) throw new Error('other targets took the time of this round');
  const delivery = await deliverUnlessDown(deps, telling).catch(async (error: unknown) => {
    deps.down.set(who, error);
    await note(failureOf(telling, { id, who, error }));
    throw error;
  });
  const at = deps.clock.now().toISOString();
  if (delivery.kind === 'refused')
    await note({
      id: `notice-${id}`,
      kind: 'NoticeRefused',
      text: `${event['detail-type']} did not reach ${who}: ${delivery.reason}`,
    });
  await deps.store.createText(mark, JSON.stringify({ at, who, ...delivery }));
  return `${who}: ${delivery.kind}`;
}

interface Failure {
  readonly id: string;
  readonly who: string;
  readonly error: unknown;
}

/** The first failure and the last one: the entries of those between have the id of the first. */
function failureOf({ event, isLastTry }: Telling, { id, who, error }: Failure): Omit<TimelineEntry, 'at'> {
  const reason = messageOf(error);
  return isLastTry
    ? {
        id: `notice-failed-${id}`,
        kind: 'NoticeFailed',
        text: `${event['detail-type']} did not reach ${who} in ${MOST_TRIES} tries: ${reason}. It is among the dead letters`,
      }
    : {
        id: `notice-late-${id}`,
        kind: 'NoticeDelayed',
        text: `${event['detail-type']} has not reached ${who} yet: ${reason}. It is tried again for two hours`,
      };
}

/** Of the content, not of EventBridge's id: the service may send one event twice, and then the ids differ. */
function idOf({ target, event }: Pick<Telling, 'target' | 'event'>): string {
  const text = JSON.stringify([event['detail-type'], event.detail, nameOf(target)]);
  return createHash('sha256').update(text).digest('hex').slice(0, 32);
}

function nameOf({ topic, slack, discord, webhook }: NotifyTarget): string {
  if (topic !== undefined) return topic;
  if (slack !== undefined) return `Slack (${slack})`;
  return discord === undefined ? `webhook (${webhook ?? ''})` : `Discord (${discord})`;
}

async function deliverUnlessDown(deps: RoundDeps, telling: Telling): Promise<Delivery> {
  const who = nameOf(telling.target);
  if (deps.down.has(who)) throw deps.down.get(who);
  return deliver(deps.channels, telling);
}

async function deliver(channels: NoticeChannels, { target, event, attempts }: Telling): Promise<Delivery> {
  const { topic, slack, discord, webhook } = target;
  const text = noticeText(event, attempts);
  if (topic !== undefined) return channels.publish(topic, topicMessage(text));
  if (slack !== undefined) return channels.post(slack, slackBody(text));
  if (discord !== undefined) return channels.post(discord, discordBody(text));
  return channels.post(webhook ?? '', webhookBody(event, text));
}

/** SNS takes 100 characters of ASCII: https://docs.aws.amazon.com/sns/latest/api/API_Publish.html */
const LONGEST_SUBJECT = 100;
/** https://docs.discord.com/developers/resources/webhook#execute-webhook */
const LONGEST_DISCORD = 2_000;

const whole = ({ title, lines, command }: NoticeText): string => [title, ...lines, '', command].join('\n');

const topicMessage = (text: NoticeText): { readonly subject: string; readonly message: string } => ({
  subject: text.title.replace(/[^ -~]/g, '?').slice(0, LONGEST_SUBJECT),
  message: whole(text),
});

/**
 * Slack reads `<!channel>` and links in angle brackets:
 * https://docs.slack.dev/messaging/formatting-message-text#escaping
 */
function slackBody({ title, lines, command }: NoticeText): string {
  const escaped = (text: string): string =>
    text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return JSON.stringify({ text: [title, ...lines, command].map(escaped).join('\n') });
}

/** Mentions are switched off: a script's words must not call everyone. */
const discordBody = (text: NoticeText): string =>
  JSON.stringify({ content: whole(text).slice(0, LONGEST_DISCORD), allowed_mentions: { parse: [] } });

/** For programs: the event as on the bus, with the sentences beside it. */
const webhookBody = (event: NoticeEvent, text: NoticeText): string =>
  JSON.stringify({ type: event['detail-type'], time: event.time, detail: event.detail, ...text });

export async function drainNotices(given: NoticeDeps & { readonly queue: PolledQueue }): Promise<Taken> {
  const down = new Map<string, unknown>();
  return drainQueue(given, (messages, isTimeUp) => sendNotices({ ...given, down, isTimeUp }, messages));
}
