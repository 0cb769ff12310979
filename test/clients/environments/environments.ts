/** Python environments of the clients, each of its own, filled once from a lock file and kept in .tidewheel/tools. */
import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { runProgram } from '../../../cli/recipes/program.ts';

const ROOT = path.join(import.meta.dirname, '../../..');
const INSTALL_SECONDS = 1_200;

/** `image` is what the hosts run: SageMaker's own training toolkit, as AWS's images hold it. */
export type EnvironmentName =
  | 'cli'
  | 'sdk-v2'
  | 'sdk-v3'
  | 'image'
  | 'readers'
  | 'readers-tensorflow'
  | 'readers-dali'
  | 'readers-spark';

/** @returns its interpreter */
export async function environmentOf(
  name: EnvironmentName,
  onProgress: (line: string) => void,
): Promise<string> {
  const lock = path.join(import.meta.dirname, `${name}.lock`);
  const digest = createHash('sha256')
    .update(await readFile(lock))
    .digest('hex')
    .slice(0, 12);
  const folder = path.join(ROOT, '.tidewheel', 'tools', `client-${name}-${digest}`);
  const python = path.join(folder, 'bin', 'python');
  const complete = path.join(folder, 'complete');
  if (existsSync(complete)) return python;
  // An incomplete one is made again.
  await rm(folder, { recursive: true, force: true });
  await must(projectPython(), ['-m', 'venv', folder], onProgress);
  const uv = path.join(path.dirname(projectPython()), 'uv');
  const [program, args] = existsSync(uv)
    ? [uv, ['pip', 'install', '--python', python, '--compile-bytecode']]
    : [python, ['-m', 'pip', 'install', '--disable-pip-version-check', '--progress-bar=off']];
  await must(program, [...args, '-r', lock], onProgress);
  await writeFile(complete, '');
  return python;
}

/** @returns whether the registry has a release of the package that installs here, which is not done */
export async function isOffered(packageName: string): Promise<boolean> {
  const args = ['-m', 'pip', 'download', '--disable-pip-version-check', '--no-deps', '--only-binary=:all:'];
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-offered-'));
  try {
    const { code } = await runProgram(projectPython(), [...args, '--dest', folder, packageName], {
      seconds: INSTALL_SECONDS,
    });
    return code === 0;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

export function projectPython(): string {
  const python = path.join(ROOT, '.venv', 'bin', 'python');
  if (!existsSync(python)) throw new Error('.venv is missing: run "npm run setup -- --develop" first');
  return python;
}

async function must(program: string, args: readonly string[], onLine: (line: string) => void): Promise<void> {
  const { code, output } = await runProgram(program, args, { seconds: INSTALL_SECONDS, onLine });
  if (code === 0) return;
  throw new Error(
    `${path.basename(program)} ended with ${code}. Is the network there? Run the command again.\n${output.slice(-2_000)}`,
  );
}
