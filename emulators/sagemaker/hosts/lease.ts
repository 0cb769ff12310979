/** What one stay of a job on capacity is made of: its hosts with their metrics, and the news that the capacity goes. */
import { join } from 'node:path';
import type { CapacityLease } from '../../spot-market/model/capacity-source.ts';
import type { Clients } from '../model/job-clients.ts';
import type { JobRecord } from '../model/job-record.ts';
import type { JobStore } from '../model/job-store.ts';
import type { Settings } from '../model/options.ts';
import { planHosts } from './container.ts';
import { Gang } from './gang.ts';
import { JobMetrics, type LineScanner } from './metrics.ts';
import type { SmallObjects } from './small-objects.ts';

export interface StayServices {
  readonly settings: Settings;
  readonly clients: Clients;
  readonly store: JobStore;
  readonly scanner: LineScanner;
  readonly smallObjects: SmallObjects;
  /** A folder with a short path for the hosts' temporary files. */
  readonly temporaryDirectory: string;
}

export interface Reclaim {
  /** Aborted when the market takes the capacity back. */
  readonly signal: AbortSignal;
  /** Seconds that the market leaves to the hosts then, the server's own grace time at most. */
  readonly noticeSeconds: () => number;
}

export function reclaimOf(lease: CapacityLease, mostSeconds: number): Reclaim {
  const reclaim = new AbortController();
  let noticeSeconds = mostSeconds;
  lease.onReclaim(({ graceSeconds }) => {
    noticeSeconds = Math.min(graceSeconds, mostSeconds);
    reclaim.abort();
  });
  return { signal: reclaim.signal, noticeSeconds: () => noticeSeconds };
}

export function makeStayingGang(
  services: StayServices,
  record: JobRecord,
  lease: CapacityLease,
  place: {
    readonly slot: number;
    readonly masterPort: number;
    readonly onRest: (isAtRest: boolean) => void;
  },
): Gang {
  const { clients, scanner, settings, smallObjects, store } = services;
  const { request, arn, name } = record;
  const directory = store.directoryOf(name);
  const metrics = new JobMetrics({
    jobName: name,
    definitions: request.AlgorithmSpecification?.MetricDefinitions ?? [],
    before: record.metrics,
    client: clients.metrics,
    scanner,
    log: settings.log,
  });
  return new Gang({
    settings,
    clients,
    request,
    jobArn: arn,
    hosts: planHosts(request, { job: directory, temporary: services.temporaryDirectory }, place.slot),
    masterPort: place.masterPort,
    scratchDirectory: join(directory, 'scratch'),
    smallObjects,
    onCheckpointSynced: () => lease.checkpointSynced(),
    onRest: place.onRest,
    metrics,
  });
}
