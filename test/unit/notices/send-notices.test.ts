/** Who hears of a run, how often, and in which words. */

import { readFileSync } from 'node:fs';
import path from 'node:path';
import { readDeclaration } from '@tidewheel/declaration/read.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { noticeEvent } from '../../../functions/notices/notice-event.ts';
import { type Delivery, drainNotices } from '../../../functions/notices/send-notices.ts';
import type { PolledMessage, PolledQueue } from '../../../functions/run/queue-messages.ts';
import { AT, attemptOf, declarationOf, runOf } from '../../support/builders/records.ts';
import { fakeClock } from '../../support/fakes/clock.ts';
import { memoryObjectStore } from '../../support/fakes/object-store.ts';
import { type MemoryStores, memoryStores } from '../../support/fakes/stores.ts';

const MOST_TRIES = 10;
const TOPIC = 'arn:aws:sns:us-east-1:123456789012:tidewheel-team';
const SLACK = 'tidewheel/notify/slack';
const DISCORD = 'tidewheel/notify/discord';
const HOOK = 'tidewheel/notify/hook';

let sent: { readonly to: string; readonly body: string }[];
let answer: (to: string) => Delivery;
let deps: Omit<Parameters<typeof drainNotices>[0], 'queue'>;
let stores: MemoryStores;

beforeEach(() => {
  sent = [];
  answer = () => ({ kind: 'delivered' });
  const deliver = (to: string, body: string): Promise<Delivery> => {
    const delivery = answer(to);
    sent.push({ to, body });
    return Promise.resolve(delivery);
  };
  const clock = fakeClock(AT);
  stores = memoryStores();
  deps = {
    ...stores,
    store: memoryObjectStore(clock),
    clock,
    channels: {
      publish: (topic, { subject, message }) => deliver(topic, `${subject}\n${message}`),
      post: deliver,
    },
  };
});

/** A queue gives these messages, and keeps what did not arrive. */
function send(messages: readonly Partial<PolledMessage>[]) {
  const waiting = [messages.map((each) => ({ messageId: '', body: '', receives: 1, receipt: '', ...each }))];
  const queue: PolledQueue = {
    receive: () => Promise.resolve(waiting.shift() ?? []),
    delete: () => Promise.resolve(),
  };
  return drainNotices({ ...deps, queue });
}

async function declare(...notify: readonly object[]): Promise<void> {
  await stores.pipelines.ensure('digits', { firstBatch: 1, at: AT });
  await deps.runs.create(runOf('digits', 1));
  await deps.runs.closeBatch(runOf('digits', 1), {
    at: AT,
    declaration: declarationOf('digits', { notify }),
  });
}

const RUN = { version: 1, runId: 'digits-000001', pipeline: 'digits' };
const message = (type: string, detail: object, id = 'm1') => ({
  messageId: id,
  body: JSON.stringify({ 'detail-type': type, time: AT.replace('.000', ''), detail: { ...RUN, ...detail } }),
});
const failed = (reason = 'exit code 1') => message('RunFailed', { reason });
const interrupted = (attempt: number) =>
  message('AttemptInterrupted', { attempt, jobName: `j${attempt}`, reason: 'CapacityError: reclaimed' });

describe('a target', () => {
  it('hears what happened, the cost and the next command', async () => {
    await declare({ topic: TOPIC });
    await send([message('RunFinished', { costUsd: 3.18, onDemandUsd: 17.9, modelUri: 's3://b/m' })]);
    expect(sent).toEqual([
      {
        to: TOPIC,
        body: [
          'digits-000001 has finished',
          'digits-000001 has finished',
          'Cost $3.18; On-Demand it would have been $17.90',
          'Model: s3://b/m',
          '',
          'npx --no-install tidewheel model get digits-000001',
        ].join('\n'),
      },
    ]);
  });

  it('hears one event once, however often it comes', async () => {
    await declare({ topic: TOPIC });
    await send([failed(), failed()]);
    await send([failed()]);
    expect(sent).toHaveLength(1);
  });

  it('hears only what it asked for', async () => {
    await declare({ slack: SLACK, on: ['finished'] }, { discord: DISCORD, on: ['failed'] });
    await send([failed()]);
    expect(sent.map(({ to }) => to)).toEqual([DISCORD]);
  });

  it('hears of the interruption after so many', async () => {
    await declare({ topic: TOPIC, afterInterruptions: 2 });
    for (const number of [1, 2, 3, 4]) {
      await deps.attempts.create(attemptOf('digits-000001', number, { status: 'interrupted' }));
      await send([interrupted(number)]);
    }
    expect(sent.map(({ body }) => body.split('\n')[0])).toEqual([
      'digits-000001 has been interrupted 3 times',
    ]);
  });

  it('that is down keeps no other from hearing', async () => {
    await declare({ slack: SLACK }, { topic: TOPIC });
    answer = (to) => {
      if (to === SLACK) throw new TransientError('hooks.slack.com answers 503');
      return { kind: 'delivered' };
    };
    const first = await send([failed()]);
    expect(first.failed).toEqual([{ messageId: 'm1', reason: 'hooks.slack.com answers 503' }]);
    await send([failed()]);
    const late = `RunFailed has not reached Slack (${SLACK}) yet: hooks.slack.com answers 503. It is tried again for two hours`;
    expect((await deps.timeline.list(RUN.runId)).map(({ text }) => text)).toEqual([late]);
    answer = () => ({ kind: 'delivered' });
    expect((await send([failed()])).failed).toEqual([]);
    expect(sent.map(({ to }) => to)).toEqual([TOPIC, SLACK]);
  });

  it('that stays down is named after the last try', async () => {
    await declare({ slack: SLACK });
    answer = () => {
      throw new TransientError('hooks.slack.com does not answer');
    };
    for (let receives = 1; receives <= MOST_TRIES; receives += 1) await send([{ ...failed(), receives }]);
    const entries = await deps.timeline.list(RUN.runId);
    expect(entries.map(({ kind }) => kind)).toEqual(['NoticeDelayed', 'NoticeFailed']);
    expect(entries[1]?.text).toBe(
      `RunFailed did not reach Slack (${SLACK}) in 10 tries: hooks.slack.com does not answer. It is among the dead letters`,
    );
  });

  it('that refuses is named on the timeline', async () => {
    await declare({ slack: SLACK });
    answer = () => ({ kind: 'refused', reason: 'hooks.slack.com answers 404' });
    expect((await send([failed(), failed()])).failed).toEqual([]);
    expect(sent).toHaveLength(1);
    const [entry, ...more] = await deps.timeline.list(RUN.runId);
    expect(more).toEqual([]);
    expect(entry?.text).toBe(`RunFailed did not reach Slack (${SLACK}): hooks.slack.com answers 404`);
  });
});

describe('the queue', () => {
  it('keeps what did not arrive, and nothing else', async () => {
    await declare({ slack: SLACK });
    const waiting = [
      { ...failed('a'), messageId: 'a', receipt: 'a' },
      { messageId: 'b', receipt: 'b', body: '{' },
      { ...failed('c'), messageId: 'c', receipt: 'c' },
    ];
    const deleted: string[] = [];
    const queue: PolledQueue = {
      receive: () => Promise.resolve(waiting.splice(0, 2).map((each) => ({ ...each, receives: 1 }))),
      delete: ({ receipt }) => {
        deleted.push(receipt);
        return Promise.resolve();
      },
    };
    const { failed: stay } = await drainNotices({ ...deps, queue });
    expect(stay.map(({ messageId }) => messageId)).toEqual(['b']);
    expect(deleted).toEqual(['a', 'c']);
    expect(sent).toHaveLength(2);
  });

  it('waits for a dead target once in a round', async () => {
    await declare({ slack: SLACK }, { topic: TOPIC });
    const asked: string[] = [];
    answer = (to) => {
      asked.push(to);
      if (to === SLACK) throw new TransientError('hooks.slack.com does not answer');
      return { kind: 'delivered' };
    };
    const events = Array.from({ length: 20 }, (_, index) => ({
      ...failed(`exit code ${index}`),
      messageId: `m${index}`,
    }));
    expect((await send(events)).failed).toHaveLength(20);
    expect(asked.filter((to) => to === SLACK)).toHaveLength(1);
    expect(asked.filter((to) => to === TOPIC)).toHaveLength(20);
  });
});

describe('foreign words', () => {
  it('mention no one and forge no lines', async () => {
    await declare({ slack: SLACK }, { discord: DISCORD }, { webhook: HOOK });
    await send([failed('<!channel> @everyone\n\u2028npx rm & more')]);
    const bodies = new Map(sent.map(({ to, body }) => [to, JSON.parse(body)]));
    expect(bodies.get(SLACK).text).toContain('&lt;!channel&gt; @everyone npx rm &amp; more\n');
    expect(bodies.get(DISCORD)).toMatchObject({ allowed_mentions: { parse: [] } });
    expect(bodies.get(HOOK)).toMatchObject({
      type: 'RunFailed',
      detail: RUN,
      title: 'digits-000001 has failed',
    });
  });

  it('end where a channel ends', async () => {
    await declare({ discord: DISCORD });
    await send([failed('x'.repeat(100_000))]);
    expect(JSON.parse(sent[0]?.body ?? '').content.length).toBeLessThan(2_000);
  });
});

it('a message that is no event fails', async () => {
  const { failed: refused } = await send([
    { messageId: 'a', body: '{' },
    message('Whatever', {}, 'b'),
    failed(),
  ]);
  expect(refused.map(({ messageId }) => messageId)).toEqual(['a', 'b']);
});

const template = parseDocument(
  readFileSync(path.join(import.meta.dirname, '../../../serverless/events.yml'), 'utf8'),
  { logLevel: 'silent' },
);

it('the queue gives a message ten times', () => {
  const times = ['Resources', 'NoticeDeliveriesQueue', 'Properties', 'RedrivePolicy', 'maxReceiveCount'];
  expect(template.getIn(times)).toBe(MOST_TRIES);
});

it('the rule lets through every event that has words', () => {
  const pattern = ['Resources', 'NoticeDeliveriesRule', 'Properties', 'EventPattern', 'detail-type'];
  const through = template.getIn(pattern);
  expect(JSON.parse(JSON.stringify(through)).toSorted()).toEqual(
    noticeEvent.options.map(({ shape }) => shape['detail-type'].value).toSorted(),
  );
});

describe('a declaration', () => {
  const problemsOf = (notify: string) => {
    const text = `name: digits\ntraining: { strategy: single }\ncompute: { instanceTypes: [g5.xlarge] }\nnotify: ${notify}`;
    const read = readDeclaration('digits', text);
    return read.valid ? [] : read.problems.map(({ path, message: why }) => `${path}: ${why}`);
  };

  it('names one channel in each entry', () => {
    expect(problemsOf('[{ on: [failed] }]')).toEqual([
      'notify[0]: names no channel: write one of topic, slack, discord, webhook',
    ]);
    expect(problemsOf(`[{ slack: ${SLACK}, topic: "${TOPIC}" }]`)).toEqual([
      'notify[0]: names topic and slack: write an entry for each',
    ]);
  });

  it('holds no address of a webhook', () => {
    expect(problemsOf('[{ slack: "https://hooks.slack.com/services/T/B/secret" }]').join()).toContain(
      'begins with tidewheel/notify/',
    );
  });
});
