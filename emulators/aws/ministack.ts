/** MiniStack as a child process: started, waited for, stopped; it also ends by itself when this process dies. */

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdir, open, readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { makeAllPrivate } from '@tidewheel/kit/files.ts';
import { once } from '@tidewheel/kit/once.ts';
import { type AccessKey, keyVariables } from '../access/access-key.ts';

/** What limits.py reads. */
interface EmulatorLimits {
  readonly s3: {
    readonly latencySeconds: number;
    readonly readsPerSecond: number;
    readonly writesPerSecond: number;
  };
  readonly dynamodbLatencySeconds: number;
  readonly payloadBytes: number;
  readonly historyEvents: number;
}

/** What service_quotas.py reads: quotas by the code of their service. */
export interface AccountQuotas {
  /** Twelve digits. */
  readonly accountId: string;
  readonly services: Readonly<
    Record<string, { readonly name: string; readonly quotas: readonly AccountQuota[] }>
  >;
}

export interface AccountQuota {
  readonly code: string;
  readonly name: string;
  /** The account's own. */
  readonly value: number;
  /** AWS's, for every account. */
  readonly default: number;
}

export interface EmulatorOptions {
  /** The python of an environment that holds emulators/aws/requirements.lock. */
  readonly pythonPath: string;
  /** Everything that outlives a restart. One emulator at a time uses it. */
  readonly stateDirectory: string;
  /** The key that clients sign with; Lambda functions get it too. */
  readonly credentials: AccessKey;
  /** 0 or nothing takes a free port. */
  readonly port?: number;
  /** For MiniStack and its Lambda workers, e.g. AWS_ENDPOINT_URL_SAGEMAKER; a function's own variables win. */
  readonly environment?: Readonly<Record<string, string>>;
  /** The node that Lambda functions run on: the executable, or its folder. Default: this process's own. */
  readonly nodePath?: string;
  /** File that takes the emulator's output. Default: emulator.log in the state directory. */
  readonly log?: string;
  /** How often the state is saved: what a kill -9 can lose. Default 3. */
  readonly saveSeconds?: number;
  /** Lambda functions that the account may run at once. Default: no limit; the machine runs eight of them. */
  readonly concurrentExecutions?: number | undefined;
  /** Further limits of the account (emulators/limits/profiles.ts). Default: none. */
  readonly limits?: EmulatorLimits | undefined;
  /** Ends of the names of functions that are initialised when an execution starts, in order. Default: none. */
  readonly initialised?: readonly string[];
  /** What Service Quotas answers. Default: there is no such service. */
  readonly serviceQuotas?: AccountQuotas | undefined;
  /** File of a virtual clock (emulators/clock) that MiniStack and its functions go by. Default: the clock on the wall. */
  readonly clockFile?: string;
}

export interface Emulator {
  readonly url: string;
  readonly port: number;
  readonly pid: number;
  /** Resolves when the process has ended, for whatever reason. */
  readonly exited: Promise<void>;
  /** Saves the state and ends the Lambda workers; idempotent. */
  stop(): Promise<void>;
}

/** The emulator refused, with its reason as the message; or it ended or was not ready in time, with the end of its log. */
class EmulatorStartError extends Error {
  override readonly name = 'EmulatorStartError';
}

/** In the emulator's own words, which need no log beside them. */
class Refusal extends Error {}

/** Saving the state and a second of grace for open requests is all it has to do. */
const READY_TIMEOUT_MILLISECONDS = 30_000;
const STOP_TIMEOUT_MS = 20_000;
const LOG_TAIL_CHARACTERS = 2_000;

/** What a child gets of this process's environment: no credentials, no profile, no endpoint of the user's. */
const PASSED_ON = ['HOME', 'LANG', 'LC_ALL', 'TZ', 'TMPDIR', 'SSL_CERT_FILE', 'LD_LIBRARY_PATH'];

export async function startEmulator(options: EmulatorOptions): Promise<Emulator> {
  const log = options.log ?? path.join(options.stateDirectory, 'emulator.log');
  await makeAllPrivate(options.stateDirectory);
  await mkdir(path.dirname(log), { recursive: true });
  const file = await open(log, 'a', 0o600);
  const child = spawnEmulator(options, file.fd, await writeQuotas(options));
  const ended = endOf(child);
  const exited = ended.then(() => undefined);
  await file.close();
  const stop = once(() => stopChild(child, exited));
  try {
    const port = await awaitReady(child, ended, READY_TIMEOUT_MILLISECONDS);
    return { url: `http://127.0.0.1:${port}`, port, pid: child.pid ?? 0, exited, stop };
  } catch (error) {
    await stop();
    if (error instanceof Refusal) throw new EmulatorStartError(error.message, { cause: error });
    throw new EmulatorStartError(`${messageOf(error)}\nThe end of ${log}:\n${await tailOf(log)}`, {
      cause: error,
    });
  }
}

/** Far more than a command line should hold. */
async function writeQuotas({ serviceQuotas, stateDirectory }: EmulatorOptions): Promise<readonly string[]> {
  if (serviceQuotas === undefined) return [];
  const file = path.join(stateDirectory, 'service-quotas.json');
  await writeFile(file, JSON.stringify(serviceQuotas), { mode: 0o600 });
  return ['--service-quotas', file];
}

function spawnEmulator(options: EmulatorOptions, log: number, quotas: readonly string[]): ChildProcess {
  const argument = ['--state', options.stateDirectory, '--port', String(options.port ?? 0)];
  const save = ['--save-seconds', String(options.saveSeconds ?? 3)];
  const clock = options.clockFile === undefined ? [] : ['--clock', options.clockFile];
  const limits = options.limits === undefined ? [] : ['--limits', JSON.stringify(options.limits)];
  const initialised =
    options.initialised === undefined ? [] : ['--initialise', options.initialised.join(',')];
  const executions = ['--concurrent-executions', String(options.concurrentExecutions ?? 0)];
  return spawn(
    options.pythonPath,
    [
      path.join(import.meta.dirname, 'emulator.py'),
      ...argument,
      ...save,
      ...clock,
      ...executions,
      ...limits,
      ...initialised,
      ...quotas,
      '--port-fd',
      '3',
      '--with-parent',
    ],
    {
      env: emulatorEnvironment(options),
      // A group of its own: Ctrl-C in the terminal reaches us, and we stop it in good order.
      detached: true,
      stdio: ['pipe', log, log, 'pipe'],
    },
  );
}

/** How it ended, in words. Listens at once: an 'error' without a listener ends this process. */
const endOf = (child: ChildProcess): Promise<string> =>
  new Promise((resolve) => {
    child.once('error', (error) => resolve(`could not be started: ${error.message}`));
    child.once('exit', (code, signal) => {
      // A negative code is a failure to start; its 'error' event, which follows, says more.
      if (code === null || code >= 0) resolve(`ended at its start (${signal ?? `exit code ${code}`})`);
    });
  });

function emulatorEnvironment({
  nodePath = process.execPath,
  environment = {},
  credentials,
}: EmulatorOptions): NodeJS.ProcessEnv {
  const inherited = PASSED_ON.flatMap((name) => {
    const value = process.env[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  const nodeFolder = /[\\/]node(\.exe)?$/.test(nodePath) ? path.dirname(nodePath) : nodePath;
  return {
    ...Object.fromEntries(inherited),
    // Lambda has no configuration files, so its SDK must not find the user's.
    AWS_CONFIG_FILE: '/dev/null',
    AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    AWS_EC2_METADATA_DISABLED: 'true',
    PYTHONUNBUFFERED: '1',
    ...environment,
    ...keyVariables(credentials),
    PATH: [nodeFolder, process.env['PATH'] ?? ''].join(path.delimiter),
  };
}

async function awaitReady(child: ChildProcess, ended: Promise<string>, timeoutMs: number): Promise<number> {
  const failed = ended.then((how) => {
    throw new Error(`the emulator ${how}`);
  });
  const tooLate = sleep(timeoutMs, undefined, { ref: false }).then(() => {
    throw new Error(`the emulator was not ready after ${timeoutMs / 1_000} s`);
  });
  tooLate.catch(() => undefined);
  failed.catch(() => undefined);
  const port = await Promise.race([portOf(child), failed, tooLate]);
  await Promise.race([answers(`http://127.0.0.1:${port}/_ministack/ready`, timeoutMs), failed, tooLate]);
  return port;
}

async function portOf(child: ChildProcess): Promise<number> {
  const pipe = child.stdio[3];
  let text = '';
  if (pipe instanceof Readable) for await (const chunk of pipe) text += String(chunk);
  const port = Number(text.trim());
  if (port > 0) return port;
  if (text.trim() !== '') throw new Refusal(text.trim());
  // It has failed and exits: leave the report to that.
  return new Promise<never>(() => undefined);
}

async function answers(url: string, timeoutMs: number): Promise<void> {
  const deadline = Date.now() + timeoutMs;
  while (Date.now() < deadline) {
    const ready = await fetch(url, { signal: AbortSignal.timeout(2_000) }).then(
      async (response) => {
        await response.arrayBuffer();
        return response.ok;
      },
      () => false,
    );
    if (ready) return;
    await sleep(50);
  }
}

async function stopChild(child: ChildProcess, exited: Promise<void>): Promise<void> {
  child.stdin?.on('error', () => undefined).end();
  const ended = await Promise.race([exited.then(() => true), sleep(STOP_TIMEOUT_MS, false, { ref: false })]);
  if (!ended && child.pid !== undefined) process.kill(-child.pid, 'SIGKILL');
  await exited;
}

async function tailOf(file: string): Promise<string> {
  const text = await readFile(file, 'utf8').catch(() => '(no log)');
  return text.slice(-LOG_TAIL_CHARACTERS).trim();
}
