/** Python environments beside .venv for the frameworks that the project itself does not need. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { runProgram } from './program.ts';

/** '' is the project's own environment. */
export const ENVIRONMENTS = ['', 'tf', 'ray'] as const;
export type EnvironmentName = (typeof ENVIRONMENTS)[number];

const LOCKS: Record<Exclude<EnvironmentName, ''>, string> = { tf: 'tensorflow.lock', ray: 'ray.lock' };
const INSTALL_SECONDS = 1800;

/** Its interpreter; makes and fills the environment first where it is missing or its lock has changed. */
export async function environmentPython(
  root: string,
  name: EnvironmentName,
  say: (text: string) => void,
): Promise<string> {
  const own = path.join(root, '.venv', 'bin');
  if (name === '') return path.join(own, 'python');
  const folder = path.join(root, `.venv-${name}`);
  const python = path.join(folder, 'bin', 'python');
  const lock = path.join(root, 'training', 'environments', LOCKS[name]);
  const stamp = path.join(folder, 'tidewheel-lock');
  const digest = createHash('sha256').update(readFileSync(lock)).digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return python;
  say(`\n.venv-${name}: installing what ${path.relative(root, lock)} names (once, 0.3 to 3 GB) ...`);
  const uv = path.join(own, 'uv');
  if (!existsSync(python)) {
    rmSync(folder, { recursive: true, force: true });
    await must(path.join(own, 'python'), ['-m', 'venv', folder], say);
  }
  const install = existsSync(uv)
    ? { program: uv, args: ['pip', 'install', '--python', python, '--compile-bytecode', '-r', lock] }
    : { program: python, args: ['-m', 'pip', 'install', '--progress-bar=off', '-r', lock] };
  await must(install.program, install.args, say);
  // Written last: an installation that was cut short is done again.
  writeFileSync(stamp, digest);
  return python;
}

async function must(program: string, args: readonly string[], say: (text: string) => void): Promise<void> {
  const onOutput = (text: string): void => say(text.trimEnd());
  const { code, output } = await runProgram(program, args, { seconds: INSTALL_SECONDS, onOutput });
  if (code === 0) return;
  throw new Error(
    `${path.basename(program)} ended with ${code}. Is the network there? Run the command again.\n${output.slice(-2000)}`,
  );
}
