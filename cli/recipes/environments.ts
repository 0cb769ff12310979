/** Python environments beside .venv for the frameworks that the project itself does not need. */
import { createHash } from 'node:crypto';
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { runProgram } from './program.ts';

/** '' is the project's own environment. */
export const ENVIRONMENTS = ['', 'tf', 'ray', 'horovod'] as const;
export type EnvironmentName = (typeof ENVIRONMENTS)[number];

interface Contents {
  readonly lock: string;
  /** A package built from its source against the packages of the lock, with the variables of its build. */
  readonly built?: { readonly lock: string; readonly variables: Readonly<Record<string, string>> };
  /** The newest Python that it runs on, as major and minor. */
  readonly newestPython?: readonly [number, number];
}

const CONTENTS: Record<Exclude<EnvironmentName, ''>, Contents> = {
  tf: { lock: 'tensorflow.lock' },
  ray: { lock: 'ray.lock' },
  horovod: {
    lock: 'horovod.lock',
    built: {
      lock: 'horovod-built.lock',
      variables: {
        HOROVOD_WITH_PYTORCH: '1',
        HOROVOD_WITH_MPI: '1',
        HOROVOD_WITHOUT_GLOO: '1',
        HOROVOD_WITHOUT_TENSORFLOW: '1',
        HOROVOD_WITHOUT_MXNET: '1',
        // Its build description is older than what CMake 4 still reads.
        CMAKE_POLICY_VERSION_MINIMUM: '3.5',
        MAKEFLAGS: '-j2',
      },
    },
    // PyTorch 2.0.1, the newest that it builds with, has wheels up to 3.11.
    newestPython: [3, 11],
  },
};
const INSTALL_SECONDS = 1800;

/** Its interpreter; makes and fills the environment first where it is missing or its lock has changed. */
export async function environmentPython(
  root: string,
  name: EnvironmentName,
  say: (text: string) => void,
): Promise<string> {
  const own = path.join(root, '.venv', 'bin', 'python');
  if (name === '') return own;
  const { lock, built, newestPython } = CONTENTS[name];
  const folder = path.join(root, `.venv-${name}`);
  const python = path.join(folder, 'bin', 'python');
  const locks = [lock, ...(built ? [built.lock] : [])].map((file) =>
    path.join(root, 'training', 'environments', file),
  );
  const stamp = path.join(folder, 'tidewheel-lock');
  const digest = createHash('sha256')
    .update(locks.map((file) => readFileSync(file, 'utf8')).join(''))
    .digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return python;
  say(`\n.venv-${name}: installing what training/environments/${lock} names (once, 0.3 to 3 GB) ...`);
  if (!existsSync(python)) {
    rmSync(folder, { recursive: true, force: true });
    await must(await interpreter(name, own, newestPython), ['-m', 'venv', folder], say);
  }
  const [first = '', second] = locks;
  const installer = { uv: path.join(root, '.venv', 'bin', 'uv'), python, say };
  await install(installer, ['-r', first]);
  if (second !== undefined && built) {
    say(`\n.venv-${name}: building what training/environments/${built.lock} names (once, minutes) ...`);
    const environment = {
      ...built.variables,
      PATH: `${path.join(folder, 'bin')}:${process.env['PATH'] ?? ''}`,
    };
    // A built package names the libraries of its build folder: one from another clone does not load here.
    const args = ['--no-cache', '--no-build-isolation', '--no-deps', '-r', second];
    await install(installer, args, environment);
  }
  // Written last: an installation that was cut short is done again.
  writeFileSync(stamp, digest);
  return python;
}

/** The project's own interpreter, or another of this machine where the packages need an older one. */
async function interpreter(name: string, own: string, newest: Contents['newestPython']): Promise<string> {
  if (!newest) return own;
  const [major, minor] = newest;
  const older = Array.from({ length: Math.max(0, minor - 9) }, (_, index) => `python3.${minor - index}`);
  const code = `import sys; print(sys.version_info[:2] <= (${major}, ${minor}))`;
  for (const python of [own, ...older]) {
    const ended = await runProgram(python, ['-c', code], { seconds: 60 }).catch(() => undefined);
    if (ended?.output.trim() === 'True') return python;
  }
  throw new Error(
    `.venv-${name} needs Python ${major}.${minor} or 3.10 on the PATH: what is in it has no packages for newer ones`,
  );
}

/** By uv where the set-up has brought it, else by pip. */
async function install(
  { uv, python, say }: { readonly uv: string; readonly python: string; readonly say: (text: string) => void },
  args: readonly string[],
  environment?: Readonly<Record<string, string>>,
): Promise<void> {
  const [program, words] = existsSync(uv)
    ? [uv, ['pip', 'install', '--quiet', '--python', python, '--compile-bytecode', ...args]]
    : [python, ['-m', 'pip', 'install', '--quiet', '--progress-bar=off', ...args]];
  await must(program, words, say, environment);
}

async function must(
  program: string,
  args: readonly string[],
  say: (text: string) => void,
  environment?: Readonly<Record<string, string>>,
): Promise<void> {
  const { code, output } = await runProgram(program, args, {
    seconds: INSTALL_SECONDS,
    onLine: say,
    environment: { ...process.env, ...environment },
  });
  if (code === 0) return;
  throw new Error(
    `${path.basename(program)} ended with ${code}. Is the network there? Run the command again.\n${output.slice(-2000)}`,
  );
}
