/** Runs the project's own programs with its Node 24 and its Python first on PATH. */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { places } from './places.mjs';

/** @returns {NodeJS.ProcessEnv} */
const projectEnvironment = () => ({
  ...process.env,
  // Half of what a program costs that Node runs from its sources is to strip their types and to compile them.
  NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE || path.join(places.state, 'compile-cache'),
  PATH: [path.join(places.nodeModules, '.bin'), path.dirname(places.venvPython), process.env.PATH || ''].join(
    path.delimiter,
  ),
});

const LOOK_MILLISECONDS = 500;

/** One of Linux's files on a process; empty where there is none. https://man7.org/linux/man-pages/man5/proc.5.html */
function factsOf(pid, file) {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return '';
  }
}

/** The second field after the command, which stands in parentheses and may hold any others. */
const parentOf = (pid) => factsOf(pid, 'stat').replace(/^.*\)/s, '').trim().split(' ')[1];

/** npm runs `sh -c`. Some shells become the program that they run; npm itself is our parent then. */
const isShell = (pid) => factsOf(pid, 'cmdline').split('\0')[1] === '-c';

/**
 * npm passes SIGTERM to its shell, which dies of it and leaves us behind. A shell whose npm was killed by SIGKILL stays
 * behind with us. Nothing ends the program then.
 * @returns a function that ends the watch
 */
function whenNpmIsGone(onGone) {
  const { ppid: shell } = process;
  if (process.env.npm_lifecycle_event === undefined) return () => {};
  const npm = isShell(shell) ? parentOf(shell) : undefined;
  const look = () => {
    if (process.ppid === shell && (npm === undefined || parentOf(shell) === npm)) return;
    clearInterval(timer);
    onGone();
  };
  const timer = setInterval(look, LOOK_MILLISECONDS);
  return () => clearInterval(timer);
}

let endedBy;

/** The signal that ended a program in the foreground, if one did. What should follow the program is not wanted then. */
export const endingSignal = () => endedBy;

/** Runs it with our terminal, passes signals on, and resolves with its exit code once it has ended. */
export function runInForeground(
  [program, ...args],
  { cwd = places.root, env = projectEnvironment(), stdio = 'inherit' } = {},
) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd, env, stdio });
    // The terminal sends Ctrl-C to the child too. We only must not end before it.
    const note = (signal) => {
      endedBy = signal;
    };
    const pass = (signal) => {
      note(signal);
      child.kill(signal);
    };
    process.on('SIGINT', note);
    for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, pass);
    const stopWatching = whenNpmIsGone(() => pass('SIGTERM'));
    child.on('error', reject);
    child.on('close', (code, signal) => {
      stopWatching();
      process.off('SIGINT', note);
      for (const name of ['SIGTERM', 'SIGHUP']) process.off(name, pass);
      resolve(code ?? (signal === 'SIGINT' ? 130 : 1));
    });
  });
}

/** Runs it quietly and resolves with its exit code, output and duration. */
export function runQuietly([program, ...args], { cwd = places.root, env = projectEnvironment() } = {}) {
  const started = Date.now();
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const take = (chunk) => (output += chunk);
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    const done = (code, text) => resolve({ code, output: text, seconds: (Date.now() - started) / 1_000 });
    child.on('error', (error) => done(1, error.message));
    child.on('close', (code) => done(code ?? 1, output));
  });
}

const EVERY_MS = 10_000;

/**
 * Says which step is being done, every ten seconds that it goes on, and how long it took.
 * @template T
 * @param {string} title
 * @param {(progress: { detail(text: string): void }) => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function step(title, work, out = process.stderr) {
  const started = Date.now();
  const seconds = () => Math.round((Date.now() - started) / 1_000);
  let detail = '';
  out.write(`${title} …\n`);
  // Work without details is npm's or uv's: on a terminal they draw their own display.
  const tell = () => {
    if (detail || !out.isTTY) out.write(`  … ${seconds()} s${detail && ` · ${detail.slice(0, 120)}`}\n`);
  };
  const timer = setInterval(tell, EVERY_MS);
  let mark = '✗';
  try {
    const result = await work({ detail: (text) => (detail = text) });
    mark = '✓';
    return result;
  } finally {
    clearInterval(timer);
    out.write(`${mark} ${title} (${seconds()} s)\n`);
  }
}
