/** One command of osls, pointed at the local region as it would be at AWS. */
import { spawn } from 'node:child_process';
import { appendFile, mkdir, realpath } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf } from '@tidewheel/kit/errors.ts';
import type { AccessKey } from '../access/access-key.ts';
import { waitForName } from '../shared/folder-lock.ts';
import { type Endpoints, environmentFor } from './clients.ts';
import { withProgress } from './start-progress.ts';

export class DeployError extends Error {
  override readonly name = 'DeployError';
}

export interface OslsOptions {
  readonly projectFolder: string;
  readonly stateDirectory: string;
  readonly endpoints: Endpoints;
  readonly credentials: AccessKey;
  /** Ends the command where it is. */
  readonly signal?: AbortSignal | undefined;
  /** Called before each part, and every few seconds while it runs. */
  readonly onStep?: ((text: string) => void) | undefined;
}

interface Running {
  /** Folder of the bundles, relative to the project. */
  readonly build: string;
  /** How far it is: it is ended where this stays the same. */
  readonly progress: () => Promise<string>;
}

/** osls waits so long before each look at the stack. Its default of 5 s is for CloudFormation's quota of requests. */
const STACK_LOOK_MILLISECONDS = 250;

/** The region's only networks are its own, and its registries are those of declarations. */
const ANYTHING = ['--param=subnets=*', '--param=securityGroups=*', '--param=registries=yes'];

/**
 * Two commands of one clone run one after the other: osls empties `.serverless` in the project's folder, where the other
 * one writes.
 */
export async function runOsls(
  options: OslsOptions,
  args: readonly string[],
  { build, progress }: Running,
): Promise<void> {
  const { projectFolder, signal, onStep } = options;
  const unlock = await waitForName(`osls ${await realpath(projectFolder)}`, {
    onWait: (pid) =>
      onStep?.(
        `stack, once ${pid === undefined ? 'another process' : `process ${pid}`} has run osls in this folder`,
      ),
    signal,
  });
  try {
    await withProgress((stuck) => runAlone({ ...options, stuck }, args, build), progress, onStep);
  } finally {
    unlock();
  }
}

async function runAlone(
  options: OslsOptions & { readonly stuck: AbortSignal },
  args: readonly string[],
  build: string,
): Promise<void> {
  const { projectFolder, stateDirectory, endpoints, credentials, stuck } = options;
  const signal = AbortSignal.any([stuck, ...(options.signal ? [options.signal] : [])]);
  const log = join(stateDirectory, 'logs', 'deploy.log');
  await mkdir(dirname(log), { recursive: true, mode: 0o700 });
  const environment = {
    ...environmentFor(endpoints, credentials),
    CI: '1',
    TIDEWHEEL_BUILD_FOLDER: build,
    SLS_AWS_MONITORING_FREQUENCY: String(STACK_LOOK_MILLISECONDS),
  };
  const child = spawn(
    process.execPath,
    [join(projectFolder, 'node_modules/osls/bin/serverless.js'), ...args, ...ANYTHING],
    {
      cwd: projectFolder,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      signal,
    },
  );
  const output: Buffer[] = [];
  // One that computes without end hears no SIGTERM.
  const kill = () => setTimeout(() => child.kill('SIGKILL'), 10_000).unref();
  stuck.addEventListener('abort', kill, { once: true });
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk));
  const [code, by] = await new Promise<[number | null, NodeJS.Signals | null]>((resolve, reject) => {
    // One that was ended has an error before it is gone, and would write into a folder that is being removed.
    child.once('error', (error) => signal.aborted || reject(error));
    child.once('close', (...ending) => resolve(ending));
  });
  const text = Buffer.concat(output).toString();
  await appendFile(log, text);
  options.signal?.throwIfAborted();
  if (code === 0) return;
  const cut = stuck.aborted ? `was ended: ${messageOf(stuck.reason)}` : `was ended by ${by}`;
  const how = code === null ? cut : 'failed';
  throw new DeployError(`osls ${args[0]} ${how} (its whole output: ${log}):\n${text.slice(-2_000)}`);
}
