/** Strikes a chosen run in the region: EC2's warning with its grace, or machines that fail at once. */
import type { LocalEc2 } from '../ec2/local-ec2.ts';
import type { InjectedFault, LocalSageMaker } from '../sagemaker/server.ts';
import { runOf } from '../spot-market/model/run-name.ts';
import type { LocalMarket } from '../spot-market/spot-market.ts';

export interface Strike {
  /** Of a run, or the name of its job. */
  readonly run: string;
  /** Without a warning, as a machine that fails. */
  readonly kill: boolean;
  /** One host, counted from 1; all when it is left out. */
  readonly host?: number | undefined;
  /** Whether a zone that is warned stays closed to the run for a while; where no host stays, unless said otherwise. */
  readonly closes?: boolean | undefined;
}

export interface RunningJob {
  readonly run: string;
  readonly job: string;
  readonly launcher: 'sagemaker' | 'ec2';
  readonly hosts: number;
  /** EC2 warns Spot capacity only. */
  readonly isSpot: boolean;
}

/** The strike is not possible; nothing was done. */
export class StrikeRefusedError extends Error {
  override readonly name = 'StrikeRefusedError';
}

export interface Interruptions {
  /** Jobs whose machines are up. */
  running(): readonly RunningJob[];
  /**
   * @returns the job that was struck
   * @throws StrikeRefusedError that names what is running
   */
  strike(strike: Strike): RunningJob;
  /** Those that this machine can play. */
  readonly hostFaults: readonly InjectedFault[];
  /**
   * @param host counted from 1; of a job on SageMaker
   * @returns false when the job has no such host now
   */
  inject(job: string, host: number, fault: InjectedFault): boolean;
}

interface Servers {
  readonly market: Pick<LocalMarket, 'leases'>;
  readonly sageMaker: Pick<LocalSageMaker, 'running'>;
  readonly ec2: Pick<LocalEc2, 'hosts'>;
}

export function makeInterruptions(
  { market, sageMaker, ec2 }: Servers,
  hostFaults: readonly InjectedFault[] = [],
): Interruptions {
  const leasesOf = (job: string) => market.leases.held().filter(({ owner }) => owner === job);
  /** In an order that stays while none of them goes: they come up in any. */
  const instancesOf = (job: string) =>
    [...ec2.hosts].filter(([, { jobName }]) => jobName === job).toSorted(([a], [b]) => a.localeCompare(b));
  /** Those that a warning of the host reaches. On SageMaker all hosts have one lease. */
  const warnable = ({ job, launcher }: RunningJob, host: number | undefined) => {
    const [instanceId] = (host === undefined ? undefined : instancesOf(job)[host - 1]) ?? [];
    return leasesOf(job).filter(
      (lease) => launcher === 'sagemaker' || host === undefined || lease.instanceId === instanceId,
    );
  };

  const running = (): readonly RunningJob[] => {
    const fleets = Map.groupBy(ec2.hosts.values(), ({ jobName }) => jobName);
    return [
      ...sageMaker.running().map(({ name, hosts }) => ({ job: name, hosts, launcher: 'sagemaker' as const })),
      ...[...fleets].map(([job, hosts]) => ({ job, hosts: hosts.length, launcher: 'ec2' as const })),
    ].map((found) => ({ ...found, run: runOf(found.job), isSpot: leasesOf(found.job).length > 0 }));
  };

  const fail = ({ job, launcher }: RunningJob, host: number | undefined): void => {
    if (launcher === 'sagemaker') {
      sageMaker
        .running()
        .find(({ name }) => name === job)
        ?.failHosts(host);
      return;
    }
    const meant = instancesOf(job).filter((_, index) => host === undefined || host === index + 1);
    for (const [, instance] of meant) instance.kill();
  };

  // One host of several is replaced where the others are.
  const warn = (job: RunningJob, host: number | undefined, closes?: boolean): void =>
    market.leases.reclaimNow(warnable(job, host), closes ?? (host === undefined || job.hosts === 1));

  return {
    running,
    hostFaults,
    strike: ({ run, kill, host, closes }) => {
      const jobs = running();
      const found = jobs.find((one) => one.run === run || one.job === run);
      if (found === undefined) throw new StrikeRefusedError(`${run} has no machines now. ${inWords(jobs)}`);
      const problem = problemOf(found, { run, kill, host }, warnable(found, host).length);
      if (problem !== undefined) throw new StrikeRefusedError(problem);
      if (kill) fail(found, host);
      else warn(found, host, closes);
      return found;
    },
    inject: (job, host, fault) =>
      sageMaker
        .running()
        .find(({ name }) => name === job)
        ?.injectFault(host, fault) ?? false,
  };
}

/** @param warnable leases that a warning would reach */
function problemOf(
  { job, hosts, launcher, isSpot }: RunningJob,
  { kill, host }: Strike,
  warnable: number,
): string | undefined {
  if (host !== undefined && host > hosts)
    return `${job} has ${hosts} host${hosts === 1 ? '' : 's'}: name one of them`;
  if (kill) return undefined;
  if (!isSpot) return `${job} has no Spot capacity to reclaim (On-Demand, or reclaimed already): add --kill`;
  if (launcher === 'sagemaker' && host !== undefined && hosts > 1)
    return `SageMaker warns all hosts of ${job} together: leave --host out, or add --kill`;
  if (warnable === 0) return `host ${host} of ${job} is reclaimed already: add --kill, or name another`;
  return undefined;
}

const inWords = (jobs: readonly RunningJob[]): string =>
  jobs.length === 0
    ? 'No run has machines: see GET /runs, or wait until one trains'
    : `These have: ${jobs.map(({ run, job }) => `${run} (${job})`).join(', ')}`;
