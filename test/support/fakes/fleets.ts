/** EC2 fleets that follow a script against a fake clock, described by the service's own rules. */

import type { Clock } from '@tidewheel/kit/clock.ts';
import type { FleetPlan } from '../../../functions/launch/ec2/fleet.ts';
import type { FleetService } from '../../../functions/launch/ec2/fleet-service.ts';
import { describeFleet } from '../../../functions/launch/ec2/fleet-state.ts';
import {
  currentHosts,
  type FleetInstance,
  type FleetView,
  STOP_GRACE_SECONDS,
} from '../../../functions/launch/ec2/fleet-view.ts';
import type { Round, RoundState } from '../../../functions/launch/ec2/host-requests.ts';
import { nextRefillStep } from '../../../functions/launch/ec2/refill.ts';
import { type HostReport, type JobDocument } from '../../../functions/launch/job/job-document.ts';
import { isTerminal } from '../../../functions/launch/job/job-state.ts';
import type { CreateOutcome } from '../../../functions/launch/job/training-service.ts';
import type { RefillOutcome } from '../../../functions/launch/launcher.ts';

export interface ScriptedFleet {
  /** Of the launch. */
  readonly instanceIds: readonly string[];
  /** Those that train, with the ones that came for lost hosts. */
  members(): readonly string[];
  /** A host says something of itself; the rest of what it said before stays. */
  say(instanceId: string, said: Partial<HostReport>): void;
  /** EC2 ends a host. */
  terminate(instanceId: string, reasonCode?: string): void;
}

/** What happens `at` seconds after the launch; events are named by the host that they are about. */
export type FleetScript = readonly {
  readonly at: number;
  readonly act: (fleet: ScriptedFleet) => void;
  readonly event?: 'warning' | 'state' | undefined;
}[];

interface InstanceNews {
  readonly instanceId: string;
  readonly event: 'warning' | 'state';
}

export interface ScriptedFleets extends FleetService {
  readonly jobs: ReadonlyMap<string, JobDocument>;
  /** Instances in danger, for which a checkpoint was requested. */
  checkpointRequestsOf(jobName: string): readonly string[];
  /** Every instance that was ever launched. */
  hostsOf(jobName: string): readonly string[];
  /** EC2 ends one. */
  end(jobName: string, instanceId: string): void;
  advance(): InstanceNews[];
  running(): string[];
}

interface Fleet extends ScriptedFleet {
  readonly document: JobDocument;
  readonly createdAt: Date;
  readonly script: FleetScript;
  readonly hosts: Map<string, FleetInstance>;
  readonly reports: Map<string, HostReport>;
  readonly askedToSave: Set<string>;
  begun: number;
  stopRequestedAt?: Date;
  rounds?: RoundState;
  /** Launch template and placement group are there. */
  equipped: boolean;
}

/** Hosts look for stop.json every few seconds, then save and leave. */
const STOP_SECONDS = 30;

export function scriptedFleets(
  clock: Clock,
  script: (document: JobDocument) => FleetScript = () => [],
  createError: (plan?: FleetPlan) => CreateOutcome | undefined = () => undefined,
): ScriptedFleets {
  const fleets = new Map<string, Fleet>();
  const elapsed = (since: Date) => (clock.now().getTime() - since.getTime()) / 1_000;
  const describe = (jobName: string, fleet: Fleet) => describeFleet(viewOf(jobName, fleet, clock.now()));
  const isOver = (name: string, fleet: Fleet) => {
    const job = describe(name, fleet);
    return job === undefined || isTerminal(job);
  };
  return {
    get jobs() {
      return new Map([...fleets].map(([name, { document }]) => [name, document]));
    },
    checkpointRequestsOf: (name) => [...(fleets.get(name)?.askedToSave ?? [])],
    hostsOf: (name) => [...(fleets.get(name)?.hosts.keys() ?? [])],
    end: (name, instanceId) => fleets.get(name)?.terminate(instanceId),
    running: () => [...fleets].filter(([name, fleet]) => !isOver(name, fleet)).map(([name]) => name),
    advance: () =>
      [...fleets].flatMap(([name, fleet]) => {
        const before = [...fleet.hosts.values()].filter(({ state }) => state === 'running').length;
        const news = isOver(name, fleet) ? [] : act(fleet, elapsed(fleet.createdAt));
        if (fleet.stopRequestedAt !== undefined && elapsed(fleet.stopRequestedAt) >= STOP_SECONDS)
          leave(fleet, clock.now());
        const after = [...fleet.hosts.values()].filter(({ state }) => state === 'running').length;
        const [first] = fleet.instanceIds;
        return before > after && first !== undefined
          ? [...news, { instanceId: first, event: 'state' as const }]
          : news;
      }),
    launch: async (plan) => {
      await Promise.resolve();
      if (fleets.has(plan.name)) return { kind: 'alreadyExists' };
      const error = createError(plan);
      if (error !== undefined) return error;
      const document = documentOf(plan);
      fleets.set(
        plan.name,
        fleetOf({ document, script: script(document), at: clock.now(), number: fleets.size }),
      );
      return { kind: 'created', arn: `fleet-${plan.name}` };
    },
    describe: async (name) => {
      await Promise.resolve();
      const fleet = fleets.get(name);
      return fleet && describe(name, fleet);
    },
    stop: async (name, mode) => {
      await Promise.resolve();
      const fleet = fleets.get(name);
      if (fleet === undefined) return 'notFound';
      if (isOver(name, fleet)) return 'alreadyEnded';
      fleet.stopRequestedAt ??= clock.now();
      if (mode === 'now' || elapsed(fleet.stopRequestedAt) >= STOP_GRACE_SECONDS)
        for (const id of fleet.hosts.keys()) fleet.terminate(id);
      return 'stopping';
    },
    requestCheckpoint: async (name, instanceId) => {
      await Promise.resolve();
      fleets.get(name)?.askedToSave.add(instanceId);
    },
    refill: async (name, warned) => {
      await Promise.resolve();
      const fleet = fleets.get(name);
      return fleet === undefined
        ? { kind: 'none' }
        : refillFleet({ name, fleet, warned, clock, createError });
    },
    release: async (name) => {
      await Promise.resolve();
      const fleet = fleets.get(name);
      if (fleet === undefined) return;
      for (const id of fleet.hosts.keys()) fleet.terminate(id);
      fleet.equipped = false;
    },
    listLeftovers: () =>
      Promise.resolve(
        [...fleets].filter(([name, fleet]) => fleet.equipped || !isOver(name, fleet)).map(([name]) => name),
      ),
    jobsOf: (ids) =>
      Promise.resolve(
        new Map(
          [...fleets].flatMap(([name, { hosts }]) =>
            [...hosts.keys()].filter((id) => ids.includes(id)).map((id): [string, string] => [id, name]),
          ),
        ),
      ),
  } satisfies ScriptedFleets;
}

function viewOf(jobName: string, fleet: Fleet, now: Date): FleetView {
  const { nodes, managedSpot, priceRatio, maximumRunSeconds, refills } = fleet.document;
  const { rounds, stopRequestedAt } = fleet;
  const job = { jobName, nodes, managedSpot, priceRatio, maximumRunSeconds, refills };
  return {
    ...job,
    instances: [...fleet.hosts.values()],
    reports: [...fleet.reports.values()],
    rounds,
    stopRequestedAt,
    now,
  };
}

function addHosts(name: string, { hosts }: Fleet, { round, missing }: Round, launchedAt: Date): void {
  const job = name.replaceAll(/\D/g, '').slice(-6);
  for (let index = 0; index < missing; index += 1) {
    const instanceId = `i-${job}${round}${String(index).padStart(3, '0')}`;
    hosts.set(instanceId, { instanceId, state: 'running', launchedAt, round });
  }
}

/** By the very rules of the adapter; hosts of a new round train at once. */
function refillFleet(given: {
  readonly name: string;
  readonly fleet: Fleet;
  readonly warned: readonly string[];
  readonly clock: Clock;
  readonly createError: () => CreateOutcome | undefined;
}): RefillOutcome {
  const { name, fleet, warned, clock, createError } = given;
  const now = clock.now();
  const step = nextRefillStep({ ...viewOf(name, fleet, now), warned });
  switch (step.kind) {
    case 'none':
      return fleet.rounds === undefined ? step : { kind: 'whole', round: fleet.rounds.round };
    case 'impossible':
      return step;
    case 'open':
      fleet.rounds = { round: step.round };
      return refillFleet(given);
    case 'launch': {
      const error = createError();
      if (error !== undefined) return { kind: 'impossible', why: error.kind };
      addHosts(name, fleet, step.round, now);
      return refillFleet(given);
    }
    case 'end':
      for (const id of step.instanceIds) fleet.terminate(id);
      return refillFleet(given);
    case 'begin':
      fleet.rounds = { round: step.round, members: step.members };
      for (const id of step.members) fleet.say(id, { round: step.round.round });
      return { kind: 'refilling', round: step.round };
    case 'wait':
      return { kind: 'refilling', round: step.round };
  }
}

function act(fleet: Fleet, seconds: number): InstanceNews[] {
  const due = fleet.script.filter(({ at }) => at <= seconds);
  const news = due.slice(fleet.begun).flatMap((step): InstanceNews[] => {
    step.act(fleet);
    const [instanceId] = fleet.instanceIds;
    return step.event === undefined || instanceId === undefined ? [] : [{ instanceId, event: step.event }];
  });
  fleet.begun = due.length;
  return news;
}

/** Hosts that never said a word never will: those are ended by EC2 only. */
function leave(fleet: Fleet, now: Date): void {
  for (const { instanceId, endedAt, stoppedBy } of fleet.reports.values()) {
    if (endedAt !== undefined) continue;
    fleet.say(instanceId, { endedAt: now.toISOString(), exitCode: 143, stoppedBy: stoppedBy ?? 'stop' });
    fleet.terminate(instanceId);
  }
}

function documentOf(plan: FleetPlan): JobDocument {
  const text = plan.objects.find(({ key }) => key.endsWith('/job.json'))?.text;
  if (text === undefined) throw new Error(`the plan of ${plan.name} holds no job.json`);
  return JSON.parse(text) as JobDocument;
}

function fleetOf(made: {
  readonly document: JobDocument;
  readonly script: FleetScript;
  readonly at: Date;
  readonly number: number;
}): Fleet {
  const { document, script, at } = made;
  const instanceIds = Array.from(
    { length: document.nodes },
    (_, host) => `i-${String(made.number).padStart(8, '0')}${String(host).padStart(4, '0')}`,
  );
  const hosts = new Map(
    instanceIds.map((instanceId): [string, FleetInstance] => [
      instanceId,
      { instanceId, state: 'running', launchedAt: at },
    ]),
  );
  const reports = new Map<string, HostReport>();
  const fleet: Fleet = {
    document,
    script,
    instanceIds,
    hosts,
    reports,
    askedToSave: new Set(),
    members: () => currentHosts(viewOf('', fleet, at)),
    createdAt: at,
    begun: 0,
    equipped: true,
    say: (instanceId, said) => {
      const before = reports.get(instanceId) ?? {
        instanceId,
        startedAt: at.toISOString(),
        seenAt: at.toISOString(),
        phase: 'script',
      };
      reports.set(instanceId, { ...before, ...said });
    },
    terminate: (instanceId, reasonCode) => {
      const host = hosts.get(instanceId);
      if (host?.state === 'running') hosts.set(instanceId, { ...host, state: 'terminated', reasonCode });
    },
  };
  return fleet;
}
