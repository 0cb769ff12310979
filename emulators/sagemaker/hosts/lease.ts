/** What one stay of a job on capacity is made of: its hosts, its metrics, and the news that the capacity goes. */
import { join } from 'node:path';
import type { CapacityLease } from '../../spot-market/model/capacity-source.ts';
import type { Clients } from '../model/clients.ts';
import type { JobRecord } from '../model/job-record.ts';
import type { JobStore } from '../model/job-store.ts';
import type { Settings } from '../model/options.ts';
import { planHosts } from './container.ts';
import { type Gang, makeGang } from './gang.ts';
import { type LineScanner, openJobMetrics } from './metrics.ts';

export interface StayServices {
  readonly settings: Settings;
  readonly clients: Clients;
  readonly store: JobStore;
  readonly scanner: LineScanner;
  /** A folder with a short path for the hosts' temporary files. */
  readonly temporaryDirectory: string;
}

export interface Stay {
  readonly gang: Gang;
  /** Aborted when the market takes the capacity back. */
  readonly reclaim: AbortSignal;
  /** Seconds that the market leaves to the hosts then, the server's own grace time at most. */
  readonly noticeSeconds: () => number;
}

export function openStay(
  services: StayServices,
  record: JobRecord,
  lease: CapacityLease,
  place: {
    readonly slot: number;
    readonly masterPort: number;
    readonly onRest: (isAtRest: boolean) => void;
  },
): Stay {
  const { clients, scanner, settings, store } = services;
  const { request, arn, name } = record;
  const directory = store.directoryOf(name);
  const reclaim = new AbortController();
  let noticeSeconds = settings.graceSeconds;
  lease.onReclaim(({ graceSeconds }) => {
    noticeSeconds = Math.min(graceSeconds, settings.graceSeconds);
    reclaim.abort();
  });
  const metrics = openJobMetrics({
    jobName: name,
    definitions: request.AlgorithmSpecification?.MetricDefinitions ?? [],
    before: record.metrics,
    client: clients.metrics,
    scanner,
    log: settings.log,
  });
  const gang = makeGang({
    settings,
    clients,
    request,
    jobArn: arn,
    hosts: planHosts(request, { job: directory, temporary: services.temporaryDirectory }, place.slot),
    masterPort: place.masterPort,
    scratchDirectory: join(directory, 'scratch'),
    onCheckpointSynced: () => lease.checkpointSynced(),
    onRest: place.onRest,
    metrics,
  });
  return { gang, reclaim: reclaim.signal, noticeSeconds: () => noticeSeconds };
}
