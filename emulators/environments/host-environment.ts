/** A Python environment for one host over that of the region, which no host can change. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const MAKER = fileURLToPath(new URL('layer.py', import.meta.url));
const run = promisify(execFile);

/** A private index, proxies and the like, as the user's shell has them. */
const OF_SHELL = /^(PIP_|UV_|SSL_CERT_|REQUESTS_CA_BUNDLE$|(HTTPS?|NO|ALL)_PROXY$)/i;

export const installerVariables = (): Record<string, string> =>
  Object.fromEntries(
    Object.entries(process.env).flatMap(([name, value = '']) => (OF_SHELL.test(name) ? [[name, value]] : [])),
  );

interface Packages {
  /** For pip, of an image that the host stands for. Those that the Python below has stay as they are. */
  readonly packages?: readonly string[];
  readonly signal?: AbortSignal;
}

/** The same as {@link layEnvironments} for one host. @returns its interpreter */
export async function layEnvironment(
  pythonPath: string,
  folder: string,
  environmentsDirectory: string,
  options?: Packages,
): Promise<string> {
  await layEnvironments(pythonPath, [folder], environmentsDirectory, options);
  return join(folder, 'bin', 'python');
}

/**
 * Makes an environment in each folder. The folders are missing or empty.
 *
 * @param environmentsDirectory keeps what jobs require, for later attempts and other jobs
 * @throws Error when the disk or the interpreter below refuses, and where pip cannot install the packages
 */
export async function layEnvironments(
  pythonPath: string,
  folders: readonly string[],
  environmentsDirectory: string,
  { packages = [], signal }: Packages = {},
): Promise<void> {
  const args = ['-I', '-B', MAKER, JSON.stringify(folders), environmentsDirectory, ...packages];
  const env = packages.length === 0 ? {} : installerVariables();
  await run(pythonPath, args, { env, ...(signal && { signal }) });
}
