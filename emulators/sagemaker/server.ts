/** A SageMaker for one machine: speaks AWS's protocol and really runs the training jobs. */
import { resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { makeAllPrivate } from '@tidewheel/kit/files.ts';
import { openTemporaryFolder } from '@tidewheel/kit/temporary-folder.ts';
import type { LocalServer } from '../access/local-server.ts';
import type { LocalClock } from '../clock/clock.ts';
import { type Rate, tokenBuckets } from '../limits/token-bucket.ts';
import { lockFolder } from '../shared/folder-lock.ts';
import type { CapacityMarket, CapacityRequest } from '../spot-market/model/capacity-source.ts';
import { startHttpServer } from './api/http.ts';
import { runOperation } from './api/training-operations.ts';
import { makeAddressBook } from './hosts/addresses.ts';
import type { InjectedFault } from './hosts/host-process.ts';
import { makeLineScanner } from './hosts/metrics.ts';
import { SmallObjects } from './hosts/small-objects.ts';
import { makeEventSender } from './jobs/events.ts';
import { type JobRegistry, openRegistry } from './jobs/registry.ts';
import type { LocalTrainingJob } from './jobs/training-job.ts';
import { destroyClients, makeClients } from './model/job-clients.ts';
import { openJobStore } from './model/job-store.ts';
import { type LocalSageMakerOptions, type Settings, settingsOf } from './model/options.ts';
import { throttled } from './model/refusals.ts';

export { INJECTED_FAULTS, type InjectedFault } from './hosts/host-process.ts';
export type { LocalSageMakerOptions } from './model/options.ts';

const LAST_EVENTS_MS = 3_000;

export interface LocalSageMaker {
  /** For AWS_ENDPOINT_URL_SAGEMAKER. */
  readonly url: string;
  /** Jobs whose hosts are there. */
  running(): readonly RunningJob[];
  /** Ends all hosts (after a few seconds to save), then the server. Jobs under way are Failed at the next start. */
  close(): Promise<void>;
}

function startServer(
  registry: JobRegistry,
  settings: Settings,
  operationRate: Rate | undefined,
): Promise<LocalServer> {
  const { clock, credentials, log, reservations } = settings;
  const context = { registry, clock, reservations };
  const mayPass = operationRate && tokenBuckets(operationRate, () => clock.now());
  const dispatch = async (operation: string, body: unknown): ReturnType<typeof runOperation> => {
    if (mayPass?.(operation) === false) throw throttled();
    return runOperation(operation, body, context);
  };
  return startHttpServer({ dispatch, credentials, log }, settings.port);
}

/** What a test or a user may do to the machines of a job. */
interface RunningJob {
  readonly name: string;
  readonly hosts: number;
  /** Machines fail without a warning: one, counted from 1, or all. */
  failHosts(host?: number): void;
  /** @param host counted from 1. @returns false when the job has no such host now */
  injectFault(host: number, fault: InjectedFault): boolean;
}

const runningJob = (job: LocalTrainingJob): RunningJob => ({
  name: job.record.name,
  hosts: job.hostCount ?? 0,
  failHosts: (host) => job.failHosts(host),
  injectFault: (host, fault) => job.injectFault(host, fault),
});

function queuedMarket({ market, clock, pendingSeconds }: Settings): CapacityMarket {
  return withPendingQueue(market, clock, ({ groups }) =>
    Math.max(...groups.map(({ instanceType }) => pendingSeconds(instanceType))),
  );
}

export async function startLocalSageMaker(options: LocalSageMakerOptions): Promise<LocalSageMaker> {
  const given = settingsOf(options);
  const settings = {
    ...given,
    stateDirectory: resolve(given.stateDirectory),
    environmentsDirectory: resolve(given.environmentsDirectory),
    market: queuedMarket(given),
  };
  await makeAllPrivate(settings.stateDirectory);
  const unlockState = await lockFolder(settings.stateDirectory, 'local SageMaker');
  const temporary = await openTemporaryFolder(settings.stateDirectory);
  const clients = makeClients(settings);
  const services = {
    settings,
    clients,
    store: await openJobStore(settings.stateDirectory),
    events: makeEventSender(clients.events, settings),
    addresses: makeAddressBook(Math.random),
    scanner: makeLineScanner(),
    smallObjects: new SmallObjects(),
    temporaryDirectory: temporary.path,
  };
  const registry = await openRegistry(services);
  const server = await startServer(registry, settings, options.operationRate).catch((error: unknown) => {
    unlockState();
    throw error;
  });
  return {
    url: server.url,
    running: () => registry.onCapacity().map(runningJob),
    close: async () => {
      await server.close();
      await registry.close();
      // An emulator that has gone before us takes no events any more.
      await Promise.race([services.events.flush(), delay(LAST_EVENTS_MS, undefined, { ref: false })]);
      await services.scanner.close();
      destroyClients(clients);
      await temporary.close();
      unlockState();
    },
  };
}

// Lets On-Demand jobs wait in line, as they do on AWS for the largest types. The market itself always has On-Demand.

/** @param secondsOf from a job's first request to its turn, by the clock */
function withPendingQueue(
  market: CapacityMarket,
  clock: LocalClock,
  secondsOf: (request: CapacityRequest) => number,
): CapacityMarket {
  /** When the turn of each owner and type comes, in milliseconds since 1970. */
  const turns = new Map<string, number>();
  const keyOf = ({ owner, groups }: CapacityRequest): string =>
    [owner, ...groups.map(({ instanceType }) => instanceType)].join(' ');
  const listeners = new Set<() => void>();
  const turnOf = (request: CapacityRequest): number => {
    const known = turns.get(keyOf(request));
    if (known !== undefined) return known;
    const seconds = request.purchaseOption === 'on-demand' ? secondsOf(request) : 0;
    const turn = clock.now() + seconds * 1_000;
    if (seconds > 0) {
      turns.set(keyOf(request), turn);
      clock.at(turn, () => {
        for (const listener of Array.from(listeners)) listener();
      });
    }
    return turn;
  };
  return {
    acquire: (request) => {
      if (turnOf(request) > clock.now()) return undefined;
      const lease = market.acquire(request);
      if (lease !== undefined) turns.delete(keyOf(request));
      return lease;
    },
    onCapacity: (listener) => {
      const own = (): void => listener();
      listeners.add(own);
      const unsubscribe = market.onCapacity(listener);
      return () => {
        listeners.delete(own);
        unsubscribe();
      };
    },
  };
}
