import { join } from 'node:path';
import type { AccessKey } from '../../access/access-key.ts';
import { type LocalClock, wallClock } from '../../clock/clock.ts';
import type { Sleepers } from '../../clock/sleepers.ts';
import type { Rate } from '../../limits/token-bucket.ts';
import type { CapacityMarket } from '../../spot-market/model/capacity-source.ts';
import type { Reservations } from '../../spot-market/model/reservations.ts';

export interface LocalSageMakerOptions {
  /** 0 takes a free one. The server listens on 127.0.0.1 only. */
  readonly port: number;
  /** Jobs and their hosts' folders; made when missing. One server at a time may use it. */
  readonly stateDirectory: string;
  /** Where S3, EventBridge, CloudWatch Logs and CloudWatch answer, for the server and for the training scripts. */
  readonly awsEndpointUrl: string;
  readonly region: string;
  /** Twelve digits. */
  readonly accountId: string;
  readonly market: CapacityMarket;
  /** Training plans of the account, which the market has its capacity of. Default: none. */
  readonly reservations?: Reservations | undefined;
  /** A Python 3.10 or newer. Each host gets an environment of its own over that of this interpreter. */
  readonly pythonPath: string;
  /** Keeps the environments of what jobs require. Default: below the state. */
  readonly environmentsDirectory?: string;
  /** Zone id of a subnet; undefined when there is no such subnet. */
  readonly subnetZone: (subnetId: string) => Promise<string | undefined>;
  /** Seconds between SIGTERM and SIGKILL; SageMaker's are 120. */
  readonly graceSeconds?: number;
  /** Of time stamps and limits; the grace time and the syncing of checkpoints stay real. Default: the clock on the wall. */
  readonly clock?: LocalClock;
  /** Where programs of the hosts sleep on a virtual clock. Without it, one of them that runs holds the clock. */
  readonly sleepers?: Sleepers;
  /** For every host's program, under what the platform and the request set. */
  readonly hostEnvironment?: Readonly<Record<string, string>>;
  readonly log?: (line: string) => void;
  readonly checkpointSyncSeconds?: number;
  /** Spot price divided by On-Demand price; 1 where nothing is known. EC2 names without `ml.`. */
  readonly spotDiscount?: (instanceType: string, zoneId: string) => number;
  /** Instances that may be in use at once by jobs not yet ended, for each instance type and market; default 1000. */
  readonly instanceQuota?: (instanceType: string, purchaseOption: 'spot' | 'on-demand') => number;
  /** The longest that a job may be allowed to run. Default: as long as SageMaker's API takes. */
  readonly longestRunSeconds?: number;
  /** Job seconds that an On-Demand job is Pending until there is capacity, by EC2's name of its type. Default 0. */
  readonly pendingSeconds?: (instanceType: string) => number;
  /**
   * vCPUs of a type, where the hosts of that job get clocks of their own that count their CPU time; undefined where they
   * share this machine by the clock on the wall. Default: undefined.
   */
  readonly hostVcpus?: (jobName: string, instanceType: string) => number | undefined;
  /** Job seconds from the capacity to the download, by EC2's name of the type. Default 0. */
  readonly preparationSeconds?: (instanceType: string) => number;
  /** Job seconds that a host's data (bytes) takes, by EC2's name of the type. Default 0. */
  readonly downloadSeconds?: (instanceType: string, bytes: number) => number;
  /** Job seconds that the training image takes, by EC2's name of the type. Default 0. */
  readonly imageSeconds?: (instanceType: string) => number;
  /** Requests of each operation. Default: no limit. */
  readonly operationRate?: Rate;
  /** The key that clients sign with; the server and the training scripts sign with it too. */
  readonly credentials: AccessKey;
}

/** The options with every default filled in. */
export type Settings = Required<
  Omit<LocalSageMakerOptions, 'sleepers' | 'operationRate' | 'reservations'>
> & {
  readonly sleepers: Sleepers | undefined;
  readonly reservations: Reservations | undefined;
};

export function settingsOf(options: LocalSageMakerOptions): Settings {
  const problems = problemsOf(options);
  if (problems.length > 0) throw new RangeError(`local SageMaker cannot start: ${problems.join('; ')}`);
  return {
    graceSeconds: 120,
    clock: wallClock,
    sleepers: undefined,
    reservations: undefined,
    hostEnvironment: {},
    log: () => {},
    checkpointSyncSeconds: 1,
    spotDiscount: () => 1,
    instanceQuota: () => 1_000,
    longestRunSeconds: Number.POSITIVE_INFINITY,
    hostVcpus: () => undefined,
    pendingSeconds: () => 0,
    preparationSeconds: () => 0,
    downloadSeconds: () => 0,
    imageSeconds: () => 0,
    environmentsDirectory: join(options.stateDirectory, 'environments'),
    ...options,
  };
}

function problemsOf(options: LocalSageMakerOptions): string[] {
  const positive = (name: 'graceSeconds' | 'checkpointSyncSeconds'): string[] => {
    const value = options[name];
    return value === undefined || (Number.isFinite(value) && value > 0)
      ? []
      : [`${name} is ${value}, give a number above 0`];
  };
  return [
    ...(/^\d{12}$/.test(options.accountId)
      ? []
      : [`accountId is '${options.accountId}', give twelve digits`]),
    ...(/^[a-z]{2}(-[a-z]+)+-\d$/.test(options.region)
      ? []
      : [`region is '${options.region}', write it as us-east-1`]),
    ...(URL.canParse(options.awsEndpointUrl)
      ? []
      : [`awsEndpointUrl is '${options.awsEndpointUrl}', write it as http://127.0.0.1:4566`]),
    ...positive('graceSeconds'),
    ...positive('checkpointSyncSeconds'),
  ];
}
