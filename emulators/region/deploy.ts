/** `osls deploy`, exactly as to AWS, into the local region; skipped when nothing that goes into it has changed. */

import { cp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { paginateListStackResources } from '@aws-sdk/client-cloudformation';
import { type DeployedStack, type Endpoints, findStack, type LocalClients, STACK_NAME } from './clients.ts';
import { compileAgent } from './compile-agent.ts';
import { DeployError, type OslsOptions, runOsls } from './osls.ts';
import { packageDigest, packageOnce } from './package-cache.ts';
import { movedPorts } from './ports.ts';
import { highest } from './start-progress.ts';

export interface DeployOptions extends OslsOptions {
  readonly clients: LocalClients;
  /** The Python that runs the hosts. */
  readonly pythonPath: string;
}

/** @returns the stack, and whether it had to be deployed */
export async function deploy(
  options: DeployOptions,
): Promise<{ readonly stack: DeployedStack; readonly deployed: boolean }> {
  const stamp = join(options.stateDirectory, 'deployed');
  const wanted = await packageDigest(options.projectFolder);
  const last = await readFile(stamp, 'utf8').catch(() => '');
  const present = await findStack(options.clients.cloudFormation);
  if (present !== undefined) ensureSamePort(present, options.endpoints);
  if (present !== undefined && last === wanted) return { stack: present, deployed: false };
  await packageAndDeploy(options, wanted);
  const stack = await findStack(options.clients.cloudFormation);
  if (stack === undefined) throw new DeployError('osls deploy ended well but the stack has not its outputs');
  await writeFile(stamp, wanted, { mode: 0o600 });
  return { stack, deployed: true };
}

function ensureSamePort(stack: DeployedStack, endpoints: Endpoints): void {
  const [deployed, chosen] = [new URL(stack.apiUrl).port, new URL(endpoints.aws).port];
  if (deployed !== chosen) throw movedPorts(deployed, Number(chosen));
}

/** In a folder of this process: its bundles do not meet those of another start in this clone. */
async function packageAndDeploy(options: DeployOptions, wanted: string): Promise<void> {
  const build = join('.esbuild', String(process.pid));
  const folder = join(options.projectFolder, build);
  const copy = join(folder, 'deployed');
  try {
    // osls may write into the folder that it deploys from.
    await cp(await packageOf(options, wanted, build), copy, { recursive: true });
    const progress = async () => `stack: ${await resourcesDone(options.clients)} resources deployed`;
    await runOsls(options, ['deploy', '--package', copy], { build, progress });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function packageOf(options: DeployOptions, digest: string, build: string): Promise<string> {
  const { projectFolder, signal, onStep } = options;
  const made = join(projectFolder, build, 'package');
  // osls removes the bundles at the end.
  const bundled = highest(() => bundlesIn(join(projectFolder, build)));
  return packageOnce({
    projectFolder,
    digest,
    signal,
    onWait: (pid) => {
      const other = pid === undefined ? 'another process' : `process ${pid}`;
      onStep?.(`stack, once ${other} has packaged the functions`);
    },
    make: async () => {
      onStep?.('stack: packaging the functions, once until their code changes');
      await compileAgent(options);
      const progress = async () => `stack: ${await bundled()} functions bundled`;
      await runOsls(options, ['package', '--package', made], { build, progress });
      return made;
    },
  });
}

const bundlesIn = async (build: string): Promise<number> =>
  (await readdir(join(build, '.build', 'functions', 'handlers'))).length;

async function resourcesDone({ cloudFormation: client }: LocalClients): Promise<number> {
  let count = 0;
  for await (const { StackResourceSummaries } of paginateListStackResources(
    { client },
    { StackName: STACK_NAME },
  ))
    count += (StackResourceSummaries ?? []).filter(({ ResourceStatus = '' }) =>
      ResourceStatus.endsWith('_COMPLETE'),
    ).length;
  return count;
}
