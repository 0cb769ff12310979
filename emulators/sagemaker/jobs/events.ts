/** "SageMaker Training Job State Change" on the account's default bus. Best effort, in order for each job. */

import { setTimeout as delay } from 'node:timers/promises';
import { type EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import { messageOf } from '@tidewheel/kit/errors.ts';
import type { JobRecord } from '../model/job-record.ts';
import type { Settings } from '../model/options.ts';
import { eventDetail } from './describe.ts';

export interface EventSender {
  send(record: JobRecord): void;
  /** When everything sent so far was delivered or given up. */
  flush(): Promise<void>;
}

const ATTEMPTS = 5;
const FIRST_PAUSE_MS = 200;

export function makeEventSender(
  client: EventBridgeClient,
  { log, clock }: Pick<Settings, 'log' | 'clock'>,
): EventSender {
  const tails = new Map<string, Promise<void>>();
  return {
    send: (record) => {
      const tail = inTurn(tails.get(record.name), () => deliver(client, record, log));
      tails.set(record.name, tail);
      void forget(tails, record.name, tail);
      void tail.then(clock.hold(`an event of ${record.name}`));
    },
    flush: async () => {
      await Promise.all(tails.values());
    },
  };
}

async function inTurn(before: Promise<void> | undefined, work: () => Promise<void>): Promise<void> {
  await before;
  await work();
}

async function forget(tails: Map<string, Promise<void>>, name: string, tail: Promise<void>): Promise<void> {
  await tail;
  if (tails.get(name) === tail) tails.delete(name);
}

async function deliver(
  client: EventBridgeClient,
  record: JobRecord,
  log: (line: string) => void,
): Promise<void> {
  const command = new PutEventsCommand({
    Entries: [
      {
        Source: 'aws.sagemaker',
        DetailType: 'SageMaker Training Job State Change',
        Time: new Date(record.modifiedAt),
        Resources: [record.arn],
        Detail: JSON.stringify(eventDetail(record)),
      },
    ],
  });
  let problem = '';
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if (attempt > 0) await delay(FIRST_PAUSE_MS * 2 ** (attempt - 1));
    try {
      const answer = await client.send(command);
      const [entry] = answer.Entries ?? [];
      if (!entry?.ErrorCode) return;
      problem = `${entry.ErrorCode}: ${entry.ErrorMessage ?? ''}`;
      // Waiting does not help: only AWS's services may name such a source, and the emulator does not know that this server represents one.
      if (entry.ErrorCode === 'NotAuthorizedForSourceException') break;
    } catch (error) {
      problem = messageOf(error);
    }
  }
  log(`event of ${record.name} (${record.status}/${record.secondaryStatus}) was not delivered: ${problem}`);
}
