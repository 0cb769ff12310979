/** All ports in memory, and what tests of the use-cases say again and again. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import type { MarketSource } from '@tidewheel/placement/market.ts';
import type { ApiDeps } from '../../../functions/api/shared/operation.ts';
import type { JobDocument } from '../../../functions/launch/job/job-document.ts';
import type { CreateOutcome } from '../../../functions/launch/job/training-service.ts';
import { ANY_NETWORK } from '../builders/allowed.ts';
import { launchersOver } from '../builders/launchers.ts';
import { PEOPLE } from '../builders/people.ts';
import { fakeClock } from '../fakes/clock.ts';
import { memoryExecutions } from '../fakes/executions.ts';
import { type FleetScript, scriptedFleets } from '../fakes/fleets.ts';
import { memoryLogs } from '../fakes/logs.ts';
import { MemoryBlobStore } from '../fakes/memory-blob-store.ts';
import { memoryNotifier } from '../fakes/notifier.ts';
import { memoryObjectStore } from '../fakes/object-store.ts';
import { memorySchedules } from '../fakes/schedules.ts';
import { memoryStores } from '../fakes/stores.ts';
import { type JobScript, scriptedTraining } from '../fakes/training.ts';

export const DECLARATION = `
name: digits
settle: { quietSeconds: 60, marker: _SUCCESS }
tuning: { settle: { maximumWaitSeconds: 600 } }
training: { strategy: ddp }
compute: { instanceTypes: [g5.xlarge], nodes: 2 }
`;

/** A region without Spot data. */
const silentMarket: Pick<MarketSource, 'region' | 'scores'> = {
  region: 'us-east-1',
  scores: () => Promise.resolve({ kind: 'unknown', failure: 'unavailable', message: 'no market here' }),
};

export type Ground = ReturnType<typeof ground>;

/** @param job what becomes of every training job; nothing by default: it trains on */
export function ground(
  job: JobScript = [{ at: 0, status: 'InProgress', secondary: 'Training' }],
  fleet: (document: JobDocument) => FleetScript = () => [],
) {
  const clock = fakeClock();
  const store = memoryObjectStore(clock);
  store.put(`${bucketKeys.source('digits')}train.py`, 'print()');
  const blobStore = new MemoryBlobStore();
  let createError: CreateOutcome | undefined;
  const training = scriptedTraining(
    clock,
    () => job,
    () => createError,
  );
  const fleets = scriptedFleets(clock, fleet, () => createError);
  return {
    clock,
    store,
    training,
    fleets,
    ...launchersOver({ training, fleets }),
    ...memoryStores(),
    /** Packed data, apart from `store`. */
    blobStore,
    blobs: () => Promise.resolve(blobStore),
    logs: memoryLogs(),
    executions: memoryExecutions(),
    notifier: memoryNotifier(),
    schedules: memorySchedules(),
    allowed: ANY_NETWORK,
    people: PEOPLE,
    market: silentMarket,
    /** Every job gets this error from now on. */
    failCreates: (outcome: CreateOutcome) => {
      createError = outcome;
    },
    declare: (text = DECLARATION) => store.put(bucketKeys.pipeline('digits'), text),
    drop: (name: string, text = name) => store.put(bucketKeys.incoming('digits') + name, text),
    /** Time passes, and the training service with it. */
    pass: (seconds: number) => {
      clock.advance(seconds);
      training.advance();
      fleets.advance();
    },
  } satisfies ApiDeps & { readonly clock: Clock } & Record<string, unknown>;
}

/** A notification as S3 puts it into the queue. */
export const created = (key: string, time: string | Date): string =>
  JSON.stringify({
    Records: [
      {
        eventVersion: '2.1',
        eventSource: 'aws:s3',
        eventTime: typeof time === 'string' ? time : time.toISOString(),
        eventName: 'ObjectCreated:Put',
        s3: {
          s3SchemaVersion: '1.0',
          bucket: { name: 'memory-bucket' },
          object: {
            key: encodeURIComponent(key).replaceAll('%20', '+'),
            size: 1,
            eTag: 'e',
            sequencer: '0A',
          },
        },
      },
    ],
  });

export const message = (body: string, messageId = body.slice(-20)) => ({ messageId, body });
