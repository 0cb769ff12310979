/** Whether events reach what takes them: dropped objects by settings and one test object, all others by their queues. */

import { testObjectKey } from '@tidewheel/contract/bucket-keys.ts';
import { type TestObjectStore } from '../records/stores.ts';
import type { AccountView, StackView } from './account-view.ts';
import { type Finding, fails, judged, limited, passed, restoring } from './finding.ts';

interface Deployed {
  readonly stack: StackView;
  readonly bucket: string;
  readonly stage: string;
}

export async function arrivalFindings(
  { stack, bucket, stage }: Deployed,
  view: Pick<AccountView, 'sendsEvents' | 'readerState'>,
): Promise<readonly Finding[]> {
  const events = { check: 'arrivals', field: 'bucket notification' };
  const reader = { check: 'arrivals', field: 'queue of arrivals' };
  const onArrival = stack.resources.get('OnDasharrivalLambdaFunction');
  return [
    ...judged(events, await view.sendsEvents(bucket), (sends) =>
      sends
        ? passed(events, 'on')
        : fails(events, {
            value: 'off',
            message: 'objects that arrive start no run',
            remedy: `${restoring(stage)}; another tool that sets the notification of the bucket must keep this one`,
          }),
    ),
    ...(onArrival === undefined
      ? []
      : judged(reader, await view.readerState(onArrival), (state) =>
          state === 'Enabled'
            ? passed(reader, state)
            : fails(reader, {
                value: state,
                message: 'on-arrival does not read its queue',
                remedy: `aws lambda list-event-source-mappings --function-name ${onArrival}, then update-event-source-mapping --enabled`,
              }),
        )),
  ];
}

/** Queues in which a message waits for a person, or for the next try. */
function waitingIn(id: string) {
  if (id === 'RegistriesQueue')
    return {
      place: { check: 'registries', field: 'decisions on models' },
      message: 'registries do not know them yet: the timelines of the runs say why',
      remedy: 'wait a quarter of an hour for the next try',
    };
  if (!id.endsWith('DeadLetters')) return undefined;
  const place = { check: 'dead letters', field: id };
  if (id === 'NoticesDeadLetters')
    return {
      place,
      message: 'EventBridge could not send these notices of failed runs to the alarm topic',
      remedy:
        'let events.amazonaws.com publish to the topic (output AlarmTopicArn), read the messages, then aws sqs purge-queue',
    };
  const reader = READERS[id] ?? 'the function that reads the queue';
  return {
    place,
    message: `${reader} failed on these events as often as they are tried`,
    remedy: `read its log (/aws/lambda/tidewheel-<stage>-${reader}), correct what it names, then aws sqs start-message-move-task --source-arn (the ARN of ${id})`,
  };
}

const READERS: Readonly<Record<string, string>> = {
  ArrivalsDeadLetters: 'on-arrival',
  TrainingEventsDeadLetters: 'on-training-event',
  SpotWarningsDeadLetters: 'on-spot-warning',
  HostStatesDeadLetters: 'on-spot-warning',
  NoticeDeliveriesDeadLetters: 'send-notices',
  RegistriesDeadLetters: 'hand-over',
};

export async function queueFindings(
  { resources }: StackView,
  { messagesIn }: Pick<AccountView, 'messagesIn'>,
): Promise<readonly Finding[]> {
  const findings = [...resources].map(async ([id, queue]) => {
    const waiting = waitingIn(id);
    if (waiting === undefined) return [];
    const { place, ...trouble } = waiting;
    return judged(place, await messagesIn(queue), (count) =>
      count === 0 ? passed(place, 'none waits') : limited(place, { value: `${count} wait`, ...trouble }),
    );
  });
  return (await Promise.all(findings)).flat();
}

export interface TestObjectDeps {
  readonly testObjects: Pick<TestObjectStore, 'takenAt'>;
  readonly put: (key: string) => Promise<void>;
  readonly remove: (key: string) => Promise<void>;
  readonly now: () => Date;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/** Longest that an arrival may take: a cold start, the batching window and a few retries. */
const PATIENCE_SECONDS = 60;
const LOOK_MILLISECONDS = 500;

/** Puts one object under the reserved prefix, waits until on-arrival has recorded it, and removes it. */
export async function testObjectFinding(id: string, deps: TestObjectDeps): Promise<Finding> {
  const place = { check: 'arrivals', field: 'test object' };
  const key = testObjectKey(id);
  const began = deps.now().getTime();
  const seconds = () => (deps.now().getTime() - began) / 1_000;
  try {
    await deps.put(key);
    while (seconds() < PATIENCE_SECONDS) {
      if ((await deps.testObjects.takenAt(id)) !== undefined)
        return passed(place, `taken after ${seconds().toFixed(1)} s`);
      await deps.sleep(LOOK_MILLISECONDS);
    }
    return fails(place, {
      value: `not taken within ${PATIENCE_SECONDS} s`,
      message: 'objects that arrive start no run',
      remedy:
        'follow it: bucket notification, rule ArrivalRule, queue ArrivalsQueue, log of on-arrival; aws sqs get-queue-attributes shows where it waits',
    });
  } catch (error: unknown) {
    const message = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return {
      ...place,
      kind: 'notSeen',
      message,
      remedy: 'allow s3:PutObject on the bucket and dynamodb:GetItem',
    };
  } finally {
    await deps.remove(key).catch(() => undefined);
  }
}
