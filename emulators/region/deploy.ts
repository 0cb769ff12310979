/** `osls deploy`, exactly as to AWS, into the local region; skipped when nothing that goes into it has changed. */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { appendFile, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { AccessKey } from '../access/access-key.ts';
import { filesBelow } from '../shared/files.ts';
import { type Endpoints, environmentFor, findStack, type LocalClients, type Stack } from './clients.ts';
import { movedPorts } from './ports.ts';

class DeployError extends Error {
  override readonly name = 'DeployError';
}

export interface DeployOptions {
  readonly projectFolder: string;
  readonly stateDirectory: string;
  readonly endpoints: Endpoints;
  readonly credentials: AccessKey;
  readonly clients: LocalClients;
  /** Ends the deployment where it is. */
  readonly signal?: AbortSignal | undefined;
}

/** What the template and the bundles are made of. */
const INGREDIENTS = [
  'serverless.yml',
  'serverless',
  'statemachines',
  'functions',
  'training/agent',
  'package-lock.json',
];

/** @returns the stack, and whether it had to be deployed */
export async function deploy(
  options: DeployOptions,
): Promise<{ readonly stack: Stack; readonly deployed: boolean }> {
  const stamp = join(options.stateDirectory, 'deployed');
  const wanted = await digest(options.projectFolder);
  const last = await readFile(stamp, 'utf8').catch(() => '');
  const present = await findStack(options.clients.cloudFormation);
  if (present !== undefined) ensureSamePort(present, options.endpoints);
  if (present !== undefined && last === wanted) return { stack: present, deployed: false };
  await runOsls(options);
  const stack = await findStack(options.clients.cloudFormation);
  if (stack === undefined) throw new DeployError('osls deploy ended well but the stack has not its outputs');
  await writeFile(stamp, wanted);
  return { stack, deployed: true };
}

function ensureSamePort(stack: Stack, endpoints: Endpoints): void {
  const [deployed, chosen] = [new URL(stack.apiUrl).port, new URL(endpoints.aws).port];
  if (deployed !== chosen) throw movedPorts(deployed, Number(chosen));
}

/** Longest that packaging and deploying may take; they hang if a file vanishes under the bundler. */
const LIMIT_MILLISECONDS = 300_000;

/** Packaged into a folder of this process, then deployed from it: two starts in one clone do not meet. */
async function runOsls(options: DeployOptions): Promise<void> {
  const build = join('.esbuild', String(process.pid));
  const artifacts = join(options.projectFolder, build, 'package');
  try {
    await osls(options, ['package', '--package', artifacts], build);
    await osls(options, ['deploy', '--package', artifacts], build);
  } finally {
    await rm(join(options.projectFolder, build), { recursive: true, force: true });
  }
}

async function osls(options: DeployOptions, args: readonly string[], build: string): Promise<void> {
  const { projectFolder, stateDirectory, endpoints, credentials, signal } = options;
  const log = join(stateDirectory, 'logs', 'deploy.log');
  await mkdir(dirname(log), { recursive: true });
  const environment = { ...environmentFor(endpoints, credentials), CI: '1', TIDEWHEEL_BUILD_FOLDER: build };
  const child = spawn(
    process.execPath,
    [join(projectFolder, 'node_modules/osls/bin/serverless.js'), ...args],
    {
      cwd: projectFolder,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...environment },
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: LIMIT_MILLISECONDS,
      signal,
    },
  );
  const output: Buffer[] = [];
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => output.push(chunk));
  const code = await new Promise<number | null>((resolve, reject) => {
    // One that was ended has an error before it is gone, and would write into a folder that is being removed.
    child.once('error', (error) => signal?.aborted || reject(error));
    child.once('close', resolve);
  });
  const text = Buffer.concat(output).toString();
  await appendFile(log, text);
  signal?.throwIfAborted();
  if (code === 0) return;
  const how = code === null ? `did not end within ${LIMIT_MILLISECONDS / 1_000} s` : 'failed';
  throw new DeployError(`osls ${args[0]} ${how} (its whole output: ${log}):\n${text.slice(-2_000)}`);
}

/** Content of every file that a deployment depends on. */
async function digest(projectFolder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const ingredient of INGREDIENTS) {
    for (const path of await filesOf(join(projectFolder, ingredient))) {
      hash.update(path.slice(projectFolder.length)).update(await readFile(path));
    }
  }
  return hash.digest('hex');
}

async function filesOf(path: string): Promise<string[]> {
  try {
    return (await filesBelow(path)).map((name) => join(path, name));
  } catch (error: unknown) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOTDIR') return [path];
    throw error;
  }
}
