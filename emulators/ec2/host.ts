/** An instance as a process tree on this machine: a folder for its disk, a metadata service, and the program that its user data starts. */
import { createWriteStream } from 'node:fs';
import { chmod, mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { S3Client } from '@aws-sdk/client-s3';
import { shellQuote } from '@tidewheel/kit/shell-quote.ts';
import { socketProblem } from '@tidewheel/kit/temporary-folder.ts';
import { type AccessKey, keyVariables } from '../access/access-key.ts';
import type { LocalClock } from '../clock/clock.ts';
import { Presence } from '../clock/presence.ts';
import type { Sleepers } from '../clock/sleepers.ts';
import { layEnvironment } from '../environments/host-environment.ts';
import { type HostExit, startHost } from '../sagemaker/hosts/host-process.ts';
import { downloadObject, listObjects, parseS3Uri } from '../sagemaker/hosts/objects.ts';
import { OPT_ML } from '../sagemaker/hosts/opt-ml.ts';
import type { BootPlan } from './boot-plan.ts';
import type { Doing } from './gang-presence.ts';
import type { LocalInstance } from './instances.ts';
import { IDENTITY_DOCUMENT, startMetadata } from './metadata.ts';

export interface HostOptions {
  readonly instance: LocalInstance;
  readonly plan: BootPlan;
  /** Stands for `/`; gone when the host is. */
  readonly folder: string;
  /** Stands for `/tmp`: `folder` may have too long a path for sockets. Gone when the host is, too. */
  readonly temporary: string;
  /** Takes what the host prints, as EC2's console output. */
  readonly consoleFile: string;
  readonly pythonPath: string;
  /** Keeps the environments of what jobs require. */
  readonly environmentsDirectory: string;
  readonly awsEndpointUrl: string;
  readonly region: string;
  /** What an instance profile gives on EC2. */
  readonly credentials: AccessKey;
  readonly s3: S3Client;
  /** The first of the ports that are the job's own. */
  readonly firstPort: number;
  readonly cpus: number;
  /** Of its downloads; undefined: as fast as they are here. */
  readonly bytesPerSecond: number | undefined;
  /** From EC2's notice to the end. */
  readonly graceSeconds: number;
  readonly clock: LocalClock;
  /** Only with a virtual clock. */
  readonly sleepers: Sleepers | undefined;
  /** Under everything else. */
  readonly hostEnvironment: Readonly<Record<string, string>>;
  /** Called when its download falls asleep on a virtual clock, and when it is awake again. */
  readonly onDoing: (doing: Doing) => void;
}

export interface Ec2Host {
  readonly jobName: string;
  /** EC2's notice, as the metadata service gives it. */
  announceEnd(at: Date): void;
  /** The machine is gone: nothing on it gets to say a word. */
  kill(): void;
  /** Whether it was killed, and its program did not end by itself. */
  readonly isKilled: boolean;
  /** Settles when no process of it is left; never rejects. */
  readonly exited: Promise<HostExit>;
  /** Closes its metadata service and removes its disk. */
  remove(): Promise<void>;
}

const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
/** On EC2 there are two minutes from the notice to the end, here often thirty seconds: hosts look and save more often. */
const LOOK_SECONDS = 1;
const SYNC_SECONDS = 2;

/** Of EC2's 120 s from the notice to the end the host leaves 75 to the script; the rest is for the last upload. */
const scriptGraceSeconds = (graceSeconds: number): number =>
  Math.round(((graceSeconds * 75) / 120) * 10) / 10;

/** Every host its own of 127.128.0.0/16: the emulator's private addresses differ in the last two numbers. */
const loopbackOf = (privateAddress: string): string =>
  ['127', '128', ...privateAddress.split('.').slice(2)].join('.');

export async function bootHost(options: HostOptions): Promise<Ec2Host> {
  const { instance, plan, folder, pythonPath, s3 } = options;
  await rm(folder, { recursive: true, force: true });
  for (const name of ['bin', 'root', 'opt/ml']) await mkdir(join(folder, name), { recursive: true });
  await mkdir(options.temporary, { recursive: true });
  await writeCli(folder, pythonPath);
  const python = await layEnvironment(pythonPath, join(folder, 'python'), options.environmentsDirectory);
  // join() resolves what climbs up before it is put below the folder.
  const agent = join('/', plan.agentPath);
  const { bucket, key: prefix } = parseS3Uri(plan.agentUri);
  for (const { key } of await listObjects(s3, { bucket, key: prefix }))
    await downloadObject(
      s3,
      { bucket, key },
      join(folder, join('/', plan.agentFolder, key.slice(prefix.length))),
    );
  const metadata = await startMetadata({
    'instance-id': instance.instanceId,
    'instance-type': instance.instanceType,
    'local-ipv4': loopbackOf(instance.privateAddress),
    [IDENTITY_DOCUMENT]: JSON.stringify({ pendingTime: instance.launchedAt }),
  });
  const onClock = followClock(options);
  const host = startHost(pythonPath, {
    command: [python, agent, '--host'],
    environment: { ...onClock.environment, ...environmentOf(options, metadata.url) },
    directory: folder,
    optMl: join(folder, OPT_ML),
  });
  void host.exited.then(onClock.leave);
  const console = createWriteStream(options.consoleFile, { flags: 'a' });
  const problem = socketProblem(options.temporary);
  if (problem !== undefined) console.write(`${problem}\n`);
  // A disk that is full must not take the server along.
  console.on('error', () => undefined);
  for (const stream of [host.stdout, host.stderr]) stream.pipe(console, { end: false });
  let isKilled = false;
  return {
    jobName: instance.jobName,
    announceEnd: (at) => metadata.announceEnd(at),
    kill: () => {
      isKilled = true;
      host.kill();
    },
    get isKilled() {
      return isKilled;
    },
    exited: host.exited,
    remove: async () => {
      await metadata.close();
      console.end();
      for (const each of [folder, options.temporary]) await rm(each, { recursive: true, force: true });
    },
  };
}

/** What its programs need to sleep on a virtual clock; nothing where there is none. */
function followClock({ sleepers, hostEnvironment, instance, clock, onDoing }: HostOptions) {
  if (sleepers === undefined) return { environment: hostEnvironment, leave: () => undefined };
  const download = sleepers.join((isAsleep) => onDoing(isAsleep ? 'sleeps' : 'works'));
  const presence = new Presence(clock, `the report of ${instance.instanceId}`);
  const report = sleepers.join((isAsleep) => (isAsleep ? presence.rest() : presence.work()));
  return {
    environment: {
      ...hostEnvironment,
      ...download.environment,
      TIDEWHEEL_CLOCK_WAITER: report.environment['TIDEWHEEL_CLOCK_MEMBER'] ?? '',
    },
    leave: () => {
      download.leave();
      report.leave();
      presence.rest();
    },
  };
}

/** `aws`, first on the host's PATH; without site-packages, which would take most of its time. */
async function writeCli(folder: string, pythonPath: string): Promise<void> {
  const program = [pythonPath, '-I', '-S', '-B', join(import.meta.dirname, 'aws.py')].map(shellQuote);
  const file = join(folder, 'bin', 'aws');
  await writeFile(file, `#!/bin/sh\nexec ${program.join(' ')} "$@"\n`);
  await chmod(file, 0o755);
}

/** The whole environment of the host's program. Nothing of the server's own is in it. */
function environmentOf(options: HostOptions, metadataUrl: string): Record<string, string> {
  const { folder, pythonPath, region, plan, firstPort } = options;
  return {
    PATH: [join(folder, 'bin'), join(folder, 'python/bin'), dirname(pythonPath), SYSTEM_PATH].join(':'),
    HOME: join(folder, 'root'),
    LANG: 'C.UTF-8',
    TMPDIR: options.temporary,
    AWS_REGION: region,
    AWS_DEFAULT_REGION: region,
    AWS_ENDPOINT_URL: options.awsEndpointUrl,
    ...keyVariables(options.credentials),
    AWS_EC2_METADATA_DISABLED: 'true',
    PYTHONDONTWRITEBYTECODE: '1',
    SAGEMAKER_BASE_DIR: OPT_ML,
    TIDEWHEEL_METADATA_URL: metadataUrl,
    TIDEWHEEL_CPUS: String(options.cpus),
    TIDEWHEEL_GRACE_SECONDS: String(scriptGraceSeconds(options.graceSeconds)),
    TIDEWHEEL_LOOK_SECONDS: String(LOOK_SECONDS),
    TIDEWHEEL_SYNC_SECONDS: String(SYNC_SECONDS),
    TIDEWHEEL_MASTER_PORT: String(firstPort),
    ...(options.bytesPerSecond && { LOCAL_S3_BYTES_PER_SECOND: String(options.bytesPerSecond) }),
    ...plan.environment,
  };
}
