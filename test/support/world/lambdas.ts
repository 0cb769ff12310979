/** The functions as the handlers make them, over the world's ports. Packing is the small model. */

import type { Clock } from '@tidewheel/kit/clock.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import type { MarketSource } from '@tidewheel/placement/market.ts';
import { answer } from '../../../functions/api/answer.ts';
import type { FleetService } from '../../../functions/launch/ec2/fleet-service.ts';
import type { TrainingService } from '../../../functions/launch/job/training-service.ts';
import type { Executions, Notifier, Schedules } from '../../../functions/records/ports.ts';
import type { Stores } from '../../../functions/records/stores.ts';
import { diagnoseAttempts } from '../../../functions/run/attempts/doctor/diagnose-attempts.ts';
import { judgeRun } from '../../../functions/run/attempts/judge-run.ts';
import { launchAttempt } from '../../../functions/run/attempts/launch-attempt.ts';
import { startNextExecution } from '../../../functions/run/attempts/next-execution.ts';
import { place } from '../../../functions/run/attempts/place.ts';
import { reconcile } from '../../../functions/run/attempts/reconcile.ts';
import { endRun } from '../../../functions/run/attempts/report-run.ts';
import { sealOrRepeat } from '../../../functions/run/attempts/seal-run.ts';
import { takeSpotWarnings, takeTrainingEvents } from '../../../functions/run/attempts/take-events.ts';
import type { Allowed } from '../../../functions/run/ingest/allowed.ts';
import { type IncomingLook, settleRun } from '../../../functions/run/ingest/settle-run.ts';
import { takeArrivals } from '../../../functions/run/ingest/take-arrivals.ts';
import { launchersOver, noFiles } from '../builders/launchers.ts';
import { PEOPLE } from '../builders/people.ts';
import { memoryLogs } from '../fakes/logs.ts';
import type { Data } from './asl.ts';
import { pack, plan, seal } from './packing-model.ts';

export interface Ports extends Stores {
  readonly store: ObjectStore;
  readonly training: TrainingService;
  readonly fleets: FleetService;
  readonly executions: Executions;
  readonly notifier: Notifier;
  readonly schedules: Schedules;
  readonly allowed: Allowed;
  readonly market: MarketSource;
  readonly clock: Clock;
  /** Items of a plan that are packed side by side. */
  readonly packers: number;
}

/** Built for every call of a function, as in the handlers, so that every call below it can fail. */
const launching = (ports: Ports) => ({ ...ports, ...launchersOver(ports) });

export const MARKER = '_DONE';

const text = (event: Data, name: string): string => String(event[name]);
const messages = (event: Data) => event['messages'] as { messageId: string; body: string }[];

export const lambdas: Readonly<Record<string, (ports: Ports, event: Data) => Promise<unknown>>> = {
  Settle: (ports, event) => {
    const observation = (event['observation'] ?? undefined) as IncomingLook | undefined;
    return settleRun(ports, { runId: text(event, 'runId'), observation });
  },
  PlanShards: async ({ store, packers }, event) => ({
    ...(await plan(store, { pipeline: text(event, 'pipeline'), runId: text(event, 'runId') }, MARKER)),
    packers,
  }),
  PlanCompaction: () => Promise.resolve({ status: 'nothingToCompact' }),
  PackShards: ({ store }, event) => {
    const { item } = event['item'] as { item: number };
    return pack(store, { pipeline: text(event, 'pipeline'), runId: text(event, 'runId') }, item);
  },
  SealDataset: ({ store, timeline, clock }, event) => {
    const run = { pipeline: text(event, 'pipeline'), runId: text(event, 'runId') };
    return sealOrRepeat({ timeline, clock }, { ...run, round: Number(event['round']) }, () =>
      seal(store, run),
    );
  },
  Place: (ports, event) => place(ports, { runId: text(event, 'runId') }),
  Launch: (ports, event) =>
    launchAttempt(
      {
        ...launching(ports),
        blobs: noFiles,
        region: 'us-east-1',
        publishAgent: async () => {
          await ports.store.createText('agent/0a1b/tidewheel.pyz', 'agent');
          return 'agent/0a1b/';
        },
      },
      { runId: text(event, 'runId'), attempt: Number(event['attempt']), taskToken: text(event, 'taskToken') },
    ),
  Judge: (ports, event) =>
    judgeRun(launching(ports), { runId: text(event, 'runId'), timedOut: event['timedOut'] === true }),
  Diagnose: (ports, event) => diagnoseAttempts(ports, text(event, 'runId')),
  Report: (ports, event) => endRun(launching(ports), { ...event, runId: text(event, 'runId') }),
  StartNextExecution: (ports, event) =>
    startNextExecution(ports, { runId: text(event, 'runId'), execution: text(event, 'execution') }),
  Reconcile: (ports, event) => reconcile(launching(ports), { sweep: event['sweep'] === true }),
  OnArrival: (ports, event) => takeArrivals(ports, messages(event)),
  OnTrainingEvent: (ports, event) => takeTrainingEvents(launching(ports), messages(event)),
  OnSpotWarning: (ports, event) => takeSpotWarnings(launching(ports), messages(event)),
  Api: (ports, event) =>
    answer(
      {
        ...ports,
        people: PEOPLE,
        logs: memoryLogs(),
        blobs: () => Promise.reject(new Error('this world packs no bytes')),
      },
      {
        route: text(event, 'route'),
        parameters: event['parameters'] as Record<string, string>,
        query: {},
        body: text(event, 'body'),
        caller: 'arn:aws:iam::123456789012:user/ada',
      },
    ),
};
