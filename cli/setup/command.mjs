/** Runs one program: all its output goes to the log, its latest line to the display. */
import { spawn } from 'node:child_process';
import { appendFileSync, readFileSync } from 'node:fs';
import { delimiter } from 'node:path';
import { SetupError } from './fail.mjs';
import { places } from './places.mjs';

const TAIL_LINES = 12;

/** What the installers must not inherit: it would keep them from compiling, or make them ask. */
const UNWANTED = [
  'PYTHONDONTWRITEBYTECODE',
  'PIP_NO_COMPILE',
  'PIP_REQUIRE_VIRTUALENV',
  'VIRTUAL_ENV',
  'PYTHONHOME',
];

/** The environment without our own node_modules/.bin on PATH: `npm ci` removes the Node that lies there. */
export function installEnvironment(extra = {}) {
  const environment = { ...process.env, ...extra };
  for (const name of UNWANTED) delete environment[name];
  environment.PATH = withoutProject(process.env.PATH ?? '');
  return environment;
}

export const withoutProject = (searchPath) =>
  searchPath
    .split(delimiter)
    .filter((folder) => !folder.startsWith(places.nodeModules) && !folder.startsWith(places.venv))
    .join(delimiter);

/**
 * @param {string[]} command program and arguments; no shell is involved
 * @param {{ progress?: { detail(line: string): void }, env?: Record<string, string>, cwd?: string }} [options]
 * @returns {Promise<{ ok: boolean, output: string }>}
 */
export function attempt([program, ...args], { progress, env = {}, cwd = places.root } = {}) {
  appendFileSync(places.log, `\n$ ${[program, ...args].join(' ')}\n`);
  return new Promise((resolve) => {
    const child = spawn(program, args, {
      cwd,
      env: installEnvironment(env),
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    const take = (chunk) => {
      output += chunk;
      appendFileSync(places.log, chunk);
      const line = String(chunk).trim().split('\n').pop()?.trim();
      if (line) progress?.detail(line);
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('error', (error) => resolve({ ok: false, output: `${output}\n${error.message}` }));
    child.on('close', (code) => resolve({ ok: code === 0, output }));
  });
}

/** As attempt, but a failure ends set-up with the last lines and the remedy. */
export async function run(command, remedy, options) {
  const { ok, output } = await attempt(command, options);
  if (ok) return output;
  const tail = output.trim().split('\n').slice(-TAIL_LINES).join('\n    ');
  throw new SetupError(
    `${command.slice(0, 3).join(' ')} … failed:\n\n    ${tail}\n\n${remedy}\nThe whole log: ${places.log}`,
  );
}

export const textOf = (file) => {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return undefined;
  }
};
