/** The FleetService port on EC2, with the bucket as the hosts' memory. */
import {
  _InstanceType,
  CreateFleetCommand,
  CreateLaunchTemplateCommand,
  CreatePlacementGroupCommand,
  DeleteLaunchTemplateCommand,
  DeletePlacementGroupCommand,
  type EC2Client,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { awsErrorClass } from '../core/aws-error-class.ts';
import { type FleetPlan, HOSTS_FOLDER, JOB_DOCUMENT } from '../core/ec2/fleet.ts';
import { fleetResult } from '../core/ec2/fleet-result.ts';
import { describeFleet, STOP_GRACE_SECONDS } from '../core/ec2/fleet-state.ts';
import { type HostReport, hostReportSchema, jobDocumentSchema } from '../core/ec2/job-document.ts';
import type { FleetService } from '../core/ec2/port.ts';
import { jobSaltOf, parseJobName } from '../core/launch/job-name.ts';
import { isTerminal } from '../core/launch/job-state.ts';
import type { CreateOutcome, StopOutcome, TrainingJobDescription } from '../core/launch/port.ts';
import { layout, parseRunId } from '../core/layout.ts';
import type { Clock, ObjectStore } from '../core/ports.ts';
import { describeError, rethrow } from './aws-errors.ts';
import { endHosts, hostsOf, jobsOf, remains } from './fleet-hosts.ts';

export interface FleetDeps {
  readonly ec2: EC2Client;
  readonly store: ObjectStore;
  readonly clock: Clock;
}

const STOP_REQUEST = 'stop.json';
const MILLISECONDS = 1_000;

export function makeFleetService(deps: FleetDeps): FleetService {
  return {
    launch: (plan) => launch(deps, plan),
    describe: (jobName) => describeJob(deps, jobName),
    stop: (jobName) => stop(deps, jobName),
    release: (jobName) => release(deps.ec2, jobName),
    remains: () => remains(deps.ec2),
    jobsOf: (instanceIds) => jobsOf(deps.ec2, instanceIds),
  };
}

async function launch({ ec2, store }: FleetDeps, plan: FleetPlan): Promise<CreateOutcome> {
  const [override] = plan.fleet.LaunchTemplateConfigs.flatMap(({ Overrides }) => Overrides);
  const type = override?.InstanceType;
  if (!isInstanceType(type)) return { kind: 'invalid', message: `EC2 has no instance type "${type}"` };
  try {
    // The token finds a fleet of a moment ago, the tag one of yesterday: EC2 does not keep tokens for ever.
    if ((await hostsOf(ec2, plan.name)).length > 0) return { kind: 'alreadyExists' };
    for (const { key, text } of plan.objects) await store.writeText(key, text);
    if (plan.placementGroup !== undefined) {
      await unlessThere(ec2.send(new CreatePlacementGroupCommand(plan.placementGroup)));
    }
    await unlessThere(ec2.send(new CreateLaunchTemplateCommand(plan.launchTemplate)));
    const configs = plan.fleet.LaunchTemplateConfigs.map((config) => ({
      ...config,
      Overrides: [{ InstanceType: type }],
    }));
    const answer = await ec2.send(new CreateFleetCommand({ ...plan.fleet, LaunchTemplateConfigs: configs }));
    const { outcome, strays } = fleetResult(
      answer,
      plan.fleet.TargetCapacitySpecification.TotalTargetCapacity,
    );
    if (strays.length > 0) await ec2.send(new TerminateInstancesCommand({ InstanceIds: [...strays] }));
    if (outcome.kind !== 'created') await release(ec2, plan.name);
    return outcome;
  } catch (error) {
    return launchFailure(error);
  }
}

const INSTANCE_TYPES: ReadonlySet<string> = new Set(Object.values(_InstanceType));
const isInstanceType = (type: string | undefined): type is _InstanceType =>
  type !== undefined && INSTANCE_TYPES.has(type);

/** What a launch before this one has made already is as it should be: the same plan makes the same. */
async function unlessThere(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (awsErrorClass(error) !== 'conflict') throw error;
  }
}

function launchFailure(error: unknown): CreateOutcome {
  const kind = awsErrorClass(error);
  const message = describeError(error);
  if (kind === 'quota' || kind === 'capacity') return { kind, message };
  if (kind === 'access') return { kind: 'denied', message };
  if (kind === 'throttle' || kind === 'transient' || kind === 'credentials')
    return { kind: 'throttled', message };
  if (kind === 'validation' || kind === 'notFound' || kind === 'conflict')
    return { kind: 'invalid', message };
  throw error;
}

/** The attempt's folder in the bucket, or undefined when the name is no job of this installation. */
function folderOf(store: ObjectStore, jobName: string): string | undefined {
  const job = parseJobName(jobName, jobSaltOf(store.bucket));
  const run = job && parseRunId(job.runId);
  return job && run && layout.attempt(run.pipeline, job.runId, job.attempt);
}

async function describeJob(deps: FleetDeps, jobName: string): Promise<TrainingJobDescription | undefined> {
  const folder = folderOf(deps.store, jobName);
  const stored = folder === undefined ? undefined : await deps.store.readText(folder + JOB_DOCUMENT);
  if (folder === undefined || stored === undefined) return undefined;
  const document = jobDocumentSchema.parse(JSON.parse(stored.text));
  return describeFleet({
    jobName,
    nodes: document.nodes,
    managedSpot: document.managedSpot,
    priceRatio: document.priceRatio,
    instances: await hostsOf(deps.ec2, jobName),
    reports: await reportsOf(deps.store, folder),
    stopAskedAt: await stopAskedAt(deps.store, folder),
    now: deps.clock.now(),
  });
}

/** A report that cannot be read counts as none: a host may die while it writes, and its next report replaces it. */
async function reportsOf(store: ObjectStore, folder: string): Promise<HostReport[]> {
  const reports: HostReport[] = [];
  for await (const { key } of store.list(folder + HOSTS_FOLDER)) {
    const stored = await store.readText(key);
    const report = hostReportSchema.safeParse(jsonOf(stored?.text));
    if (report.success) reports.push(report.data);
  }
  return reports;
}

function jsonOf(text: string | undefined): unknown {
  try {
    return text === undefined ? undefined : JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function stopAskedAt(store: ObjectStore, folder: string): Promise<Date | undefined> {
  const stored = await store.readText(folder + STOP_REQUEST);
  const at = stored && new Date(stored.text);
  return at === undefined || Number.isNaN(at.getTime()) ? undefined : at;
}

async function stop(deps: FleetDeps, jobName: string): Promise<StopOutcome> {
  const folder = folderOf(deps.store, jobName);
  const job = await describeJob(deps, jobName);
  if (folder === undefined || job === undefined) return 'notFound';
  if (isTerminal(job)) return 'alreadyEnded';
  const now = deps.clock.now();
  // Of several that ask at once the first sets the time, so that asking again does not prolong the grace.
  await deps.store.createText(folder + STOP_REQUEST, now.toISOString());
  const asked = await stopAskedAt(deps.store, folder);
  const waited = asked === undefined ? 0 : (now.getTime() - asked.getTime()) / MILLISECONDS;
  if (waited >= STOP_GRACE_SECONDS) await endHosts(deps.ec2, jobName);
  return 'stopping';
}

/** A placement group is in use until its last instance is gone: it is then removed by the next release. */
async function release(ec2: EC2Client, jobName: string): Promise<void> {
  await endHosts(ec2, jobName);
  await unlessGone(ec2.send(new DeleteLaunchTemplateCommand({ LaunchTemplateName: jobName })));
  await unlessGone(ec2.send(new DeletePlacementGroupCommand({ GroupName: jobName })));
}

/** EC2's words for a placement group that is not there, or that ending instances still use. */
const NO_GROUP_OR_IN_USE: ReadonlySet<string> = new Set([
  'InvalidPlacementGroup.Unknown',
  'InvalidPlacementGroup.InUse',
]);

async function unlessGone(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (awsErrorClass(error) === 'notFound') return;
    if (error instanceof Error && NO_GROUP_OR_IN_USE.has(error.name)) return;
    rethrow('remove a launch template or placement group', error);
  }
}
