/** All hosts of a job for one stay on capacity: their folders, programs, logs and checkpoints. */
import { mkdir, open, rm, writeFile } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { CreateTrainingJobRequest } from '@aws-sdk/client-sagemaker';
import { packagesOfImage } from '@tidewheel/catalog/images.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { socketProblem } from '@tidewheel/kit/temporary-folder.ts';
import { wallClock } from '../../clock/clock.ts';
import { layEnvironments } from '../../environments/host-environment.ts';
import type { Clients } from '../model/job-clients.ts';
import type { Settings } from '../model/options.ts';
import { JobFailure, TRY_AGAIN, transferFailure } from '../model/refusals.ts';
import { CheckpointSync } from './checkpoints.ts';
import {
  checkpointDirectory,
  commandOf,
  cpusPerHost,
  environmentOf,
  type Host,
  inputDataConfig,
  resourceConfig,
} from './container.ts';
import { channelHosts, fillChannels, modeOf } from './host-channels.ts';
import { clockEnvironment, clockedVcpus, type HostClocks, startHostClocks } from './host-clocks.ts';
import { type HostExit, type HostProcess, type InjectedFault, startHost } from './host-process.ts';
import { LogStream } from './job-logs.ts';
import { readLines } from './lines.ts';
import type { JobMetrics } from './metrics.ts';
import { OPT_ML } from './opt-ml.ts';
import { PipeFeeder } from './pipes.ts';
import type { SmallObjects } from './small-objects.ts';

interface GangContext {
  readonly settings: Settings;
  readonly clients: Clients;
  readonly request: CreateTrainingJobRequest;
  readonly jobArn: string;
  readonly hosts: readonly Host[];
  readonly masterPort: number;
  readonly scratchDirectory: string;
  readonly smallObjects: SmallObjects;
  readonly onCheckpointSynced: () => void;
  /** Called when all hosts' programs sleep on a virtual clock, and when one is awake again. */
  readonly onRest: (isAtRest: boolean) => void;
  readonly metrics: JobMetrics;
}

export type GangOutcome =
  | { readonly kind: 'completed' }
  | { readonly kind: 'failed'; readonly host: Host; readonly exit: HostExit };

interface RunningHost {
  readonly host: Host;
  readonly process: HostProcess;
  /** All output was read and delivered. */
  readonly drained: Promise<void>;
}

export class Gang {
  readonly #context: GangContext;
  readonly #syncs: readonly CheckpointSync[];
  #feeders: readonly PipeFeeder[] = [];
  #running: readonly RunningHost[] = [];
  readonly #vcpus: readonly number[] | undefined;
  #clocks: HostClocks | undefined;
  /** Hosts whose programs sleep on a virtual clock. */
  readonly #asleep = new Set<Host>();

  constructor(context: GangContext) {
    this.#context = context;
    const { hosts, request, settings } = context;
    const jobName = request.TrainingJobName ?? '';
    this.#vcpus = clockedVcpus(hosts, (type) => settings.hostVcpus(jobName, type));
    this.#syncs = context.hosts.flatMap((host) => {
      const directory = checkpointDirectory(context.request, host);
      const s3Uri = context.request.CheckpointConfig?.S3Uri;
      if (directory === undefined || s3Uri === undefined) return [];
      return [
        new CheckpointSync({
          s3: context.clients.s3,
          s3Uri,
          directory,
          base: host.base,
          stagingDirectory: join(context.scratchDirectory, host.name),
          smallObjects: context.smallObjects,
          onSynced: context.onCheckpointSynced,
          log: context.settings.log,
        }),
      ];
    });
  }

  get hosts(): readonly Host[] {
    return this.#context.hosts;
  }

  get metrics(): JobMetrics {
    return this.#context.metrics;
  }

  /** What the image has, and this machine installs instead. */
  get imagePackages(): readonly string[] {
    return packagesOfImage(this.#context.request.AlgorithmSpecification?.TrainingImage ?? '');
  }

  /** Fills the hosts' folders: channels, checkpoints. */
  async prepare(signal: AbortSignal): Promise<void> {
    const { clients, hosts, request } = this.#context;
    await fillChannels({ s3: clients.s3, request, hosts, signal });
    this.#feeders = makeFeeders(this.#context);
    for (const feeder of this.#feeders) await feeder.prepare();
    await this.#restore(signal);
  }

  /** Makes the hosts' folders, with their configuration. */
  async makeFolders(): Promise<void> {
    const { hosts, request, scratchDirectory } = this.#context;
    await mkdir(scratchDirectory, { recursive: true });
    for (const host of hosts) await makeHostFolders(request, hosts, host);
  }

  /** Gives each host a Python that has what the image has. */
  async layEnvironments(signal: AbortSignal): Promise<void> {
    const { hosts, settings } = this.#context;
    const { environmentsDirectory, pythonPath } = settings;
    const packages = this.imagePackages;
    const folders = hosts.map(({ python }) => python);
    const laid = layEnvironments(pythonPath, folders, environmentsDirectory, { packages, signal });
    await laid.catch((error: unknown) => {
      if (signal.aborted || packages.length === 0) throw error;
      const message = `This machine has not the packages of the image (${packages.join(' ')}): ${lastLine(error)}`;
      throw new JobFailure('ClientError', message, error);
    });
  }

  async #restore(signal: AbortSignal): Promise<void> {
    try {
      const [first, ...others] = this.#syncs;
      await first?.restore(signal);
      for (const sync of others) await sync.restore(signal, first);
    } catch (error) {
      throw signal.aborted ? error : transferFailure('Checkpoint download failed', error);
    }
  }

  /** Starts every host. Settles when all have ended well, or with the first that has not. */
  async run(): Promise<GangOutcome> {
    const epoch = Math.floor(Date.now() / 1000);
    this.#running = this.#context.hosts.map((host, index) =>
      this.#startHost(host, epoch, this.#vcpus?.[index]),
    );
    this.#clocks = this.#startClocks();
    for (const sync of this.#syncs) sync.follow(this.#context.settings.checkpointSyncSeconds);
    const firstFailure = Promise.withResolvers<GangOutcome>();
    const ends = this.#running.map(async ({ host, process }) => {
      const exit = await process.exited;
      if (exit.exitCode !== 0) firstFailure.resolve({ kind: 'failed', host, exit });
    });
    const allEnded = Promise.all(ends).then((): GangOutcome => ({ kind: 'completed' }));
    return Promise.race([
      firstFailure.promise,
      allEnded,
      ...this.#feeders.map((feeder) => brokenPipe(feeder)),
    ]);
  }

  #startClocks(): HostClocks | undefined {
    const vcpus = this.#vcpus;
    if (vcpus === undefined) return undefined;
    const clocked = this.#running.flatMap(({ host, process }, index) => {
      const pid = process.supervisorPid;
      return pid === undefined ? [] : [{ host, pid, vcpus: vcpus[index] ?? 1 }];
    });
    const { pythonPath, log } = this.#context.settings;
    return startHostClocks(pythonPath, clocked, log);
  }

  #startHost(host: Host, epoch: number, vcpus: number | undefined): RunningHost {
    const { clients, hosts, jobArn, masterPort, metrics, request, settings } = this.#context;
    const sleeper = settings.sleepers?.join((isAsleep) => this.#onSleep(host, isAsleep));
    const process = startHost(settings.pythonPath, {
      command: commandOf(request),
      environment: environmentOf(request, host, {
        jobArn,
        given: {
          ...settings.hostEnvironment,
          ...sleeper?.environment,
          ...(vcpus !== undefined && clockEnvironment(host)),
        },
        region: settings.region,
        awsEndpointUrl: settings.awsEndpointUrl,
        credentials: settings.credentials,
        path: [join(host.python, 'bin'), dirname(settings.pythonPath), SYSTEM_PATH].join(':'),
        masterPort,
        cpusPerHost: vcpus ?? cpusPerHost(availableParallelism(), hosts.length),
        graceSeconds: settings.graceSeconds,
      }),
      directory: host.root,
      optMl: host.base,
    });
    const stream = new LogStream(
      clients.logs,
      `${request.TrainingJobName ?? ''}/${host.name}-${epoch}`,
      settings.log,
    );
    const take = (line: string): void => {
      stream.write(line);
      metrics.line(line);
    };
    const problem = socketProblem(host.temporary);
    if (problem !== undefined) take(problem);
    process.onUsage((usage) => metrics.usage(host.name, usage));
    const drained = Promise.all([readLines(process.stdout, take), readLines(process.stderr, take)]).then(() =>
      stream.close(),
    );
    void process.exited.then(() => {
      sleeper?.leave();
      // One that was killed in its sleep: its end is work to do.
      this.#onSleep(host, false);
    });
    return { host, process, drained };
  }

  #onSleep(host: Host, isAsleep: boolean): void {
    if (isAsleep) this.#asleep.add(host);
    else this.#asleep.delete(host);
    if (!this.#isAtRest()) return this.#context.onRest(false);
    // Files saved before this sleep are in S3 before the clock moves, as it would be seconds later on SageMaker.
    const saved = Promise.all(this.#syncs.map((sync) => sync.passAtRest()));
    void saved.then(() => this.#isAtRest() && this.#context.onRest(true));
  }

  #isAtRest(): boolean {
    return this.#asleep.size === this.#context.hosts.length;
  }

  /** SIGTERM to all, SIGKILL after the grace time; settles when nothing is left of any. */
  async stop(graceSeconds: number): Promise<void> {
    this.#clocks?.stop();
    const kill = (): void => this.#running.forEach(({ process }) => process.kill());
    for (const { process } of this.#running) process.terminate();
    const cancel = wallClock.at(Date.now() + graceSeconds * 1000, kill);
    await Promise.all(this.#running.map(({ process }) => process.exited));
    cancel();
    for (const feeder of this.#feeders) feeder.stop();
  }

  /** The machines of these hosts fail at once, counted from 1; all hosts when none is named. */
  fail(host?: number): void {
    const meant = this.#running.filter((_, index) => host === undefined || host === index + 1);
    for (const { process } of meant) process.fail();
  }

  /** @param host counted from 1. @returns false where there is no such host, or it has ended */
  inject(host: number, fault: InjectedFault): boolean {
    return this.#running[host - 1]?.process.inject(fault) ?? false;
  }

  /** Removes the temporary folders of the hosts. */
  async remove(): Promise<void> {
    // A folder that cannot be removed is left to the next start of the server.
    const removed = this.hosts.map(({ temporary }) => rm(temporary, { recursive: true, force: true }));
    await Promise.allSettled(removed);
  }

  /** After the end of all hosts: the last of the checkpoints and the logs. */
  async finish(): Promise<void> {
    this.#clocks?.stop();
    await Promise.all(this.#syncs.map((sync) => sync.finish()));
    const drained = Promise.all(this.#running.map((host) => host.drained));
    await Promise.race([drained, delay(LAST_OUTPUT_MS, undefined, { ref: false })]);
    await this.#context.metrics.close();
  }
}

function makeFeeders({ clients, hosts, request }: GangContext): PipeFeeder[] {
  return (request.InputDataConfig ?? [])
    .filter((channel) => modeOf(request, channel) === 'Pipe')
    .flatMap((channel) => {
      const receiving = channelHosts({ request, hosts }, channel);
      return receiving.map((host) => new PipeFeeder({ s3: clients.s3, channel, host, hosts: receiving }));
    });
}

/** Never settles unless the feeder fails: then its host waits for data that will not come. */
async function brokenPipe(feeder: PipeFeeder): Promise<never> {
  await feeder.run();
  return new Promise<never>(() => {});
}

/** A pipe that stays open when everybody has gone says nothing more. */
const LAST_OUTPUT_MS = 10_000;

const SYSTEM_PATH = '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';

/** An empty host: what an earlier stay has left there is gone, as on a new instance. */
async function makeHostFolders(
  request: CreateTrainingJobRequest,
  hosts: readonly Host[],
  host: Host,
): Promise<void> {
  await rm(host.root, { recursive: true, force: true });
  await rm(host.temporary, { recursive: true, force: true });
  const inBase = ['input/config', 'input/data', 'model', 'output/data', 'code'].map((folder) =>
    join(host.base, folder),
  );
  for (const folder of [...inBase, host.temporary, join(host.root, 'root')])
    await mkdir(folder, { recursive: true });
  const checkpoints = checkpointDirectory(request, host);
  const configs: Record<string, unknown> = {
    resourceconfig: resourceConfig(hosts, host),
    hyperparameters: request.HyperParameters ?? {},
    inputdataconfig: inputDataConfig(request, host),
    ...(checkpoints ? { checkpointconfig: { LocalPath: checkpoints.replace(host.base, OPT_ML) } } : {}),
  };
  for (const [name, content] of Object.entries(configs)) {
    await writeFile(join(host.base, 'input', 'config', `${name}.json`), JSON.stringify(content));
  }
}

const FAILURE_CHARACTERS = 1024;

/** The first characters of output/failure, or nothing. */
async function failureText(host: Host): Promise<string> {
  let file;
  try {
    file = await open(join(host.base, 'output', 'failure'));
    // UTF-8 needs four bytes for a character at most; a hostile file may be of any size.
    const { buffer, bytesRead } = await file.read(Buffer.alloc(FAILURE_CHARACTERS * 4));
    return buffer.subarray(0, bytesRead).toString('utf8').slice(0, FAILURE_CHARACTERS).trim();
  } catch {
    return '';
  } finally {
    await file?.close();
  }
}

/** What a host that ended badly makes of the job. */
export async function failureOf({ exit, host }: GangOutcome & { kind: 'failed' }): Promise<JobFailure> {
  if (exit.isLost) return new JobFailure('InternalServerError', `${TRY_AGAIN} (${host.name} was lost)`);
  const text = exit.refusal
    ? `the program could not be started: ${exit.refusal}. Name one that is there in ContainerEntrypoint`
    : await failureText(host);
  const suffix = `, exit code: ${exit.exitCode}`;
  const room = FAILURE_CHARACTERS - 'AlgorithmError: '.length - suffix.length;
  return new JobFailure('AlgorithmError', `${text.slice(0, room)}${suffix}`);
}

/** What pip said last: the command line and its warnings come before. */
const lastLine = (error: unknown): string => messageOf(error).trim().split('\n').at(-1) ?? '';
