/** The Python environment in .venv: made, filled from the lock files, and repaired after an interruption. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { attempt, run, textOf } from './command.mjs';
import { SetupError } from './fail.mjs';
import { here, OLDEST_PYTHON, places, pythonLocks, UV } from './places.mjs';
import { isAtLeast } from './requirements.mjs';

const NETWORK = 'Is the network there? Run the command again: what is complete is not fetched twice.';
const QUICK_TRY = { UV_HTTP_TIMEOUT: '10', UV_HTTP_RETRIES: '0' };

/** Present while packages are being installed: found at the next start, it says that the last one was cut short. */
const unfinished = () => path.join(places.stamps, 'python-unfinished');
const stampOf = (group) => path.join(places.stamps, `python-${group}`);

/** @param {'run' | 'develop'} group */
export function pythonIsCurrent(group) {
  if (existsSync(unfinished()) || !existsSync(places.venvPython)) return false;
  return textOf(stampOf(group)) === contentOf(group);
}

/** What the stamp holds: the pins, the interpreter they were installed for, and where. */
function contentOf(group) {
  const hash = createHash('sha256');
  for (const file of pythonLocks[group]) {
    const text = textOf(file);
    if (text === undefined) throw new SetupError(`${file} is missing: is this clone complete? (git status)`);
    hash.update(text).update('\0');
  }
  hash.update(`${places.venv}\0${realpathSync(places.venvPython)}`);
  return hash.digest('hex');
}

/** Makes .venv unless a usable one is there. */
export async function makeEnvironment({ python, uv }, progress) {
  if (await isUsable()) return;
  rmSync(places.venv, { recursive: true, force: true });
  rmSync(places.stamps, { recursive: true, force: true });
  if (uv) {
    const command = ['uv', 'venv', '--python', python.path, places.venv];
    await run(command, NETWORK, { progress, env: { UV_PYTHON_DOWNLOADS: 'never' } });
    return;
  }
  const remedy = 'On Debian or Ubuntu run "apt-get install python3-venv"; else install uv.';
  await run([python.path, '-m', 'venv', places.venv], remedy, { progress });
}

async function isUsable() {
  if (!existsSync(places.venvPython)) return false;
  const code = 'import sys, encodings; print(*sys.version_info[:2])';
  const { ok, output } = await attempt([places.venvPython, '-c', code]);
  return ok && isAtLeast(output.trim().split(' ').map(Number), OLDEST_PYTHON);
}

/** @param {'run' | 'develop'} group */
export async function installPython(group, { uv }, progress) {
  mkdirSync(places.stamps, { recursive: true });
  const cutShort = existsSync(unfinished());
  if (cutShort) await removeBroken(progress);
  writeFileSync(unfinished(), '');
  const installer = uv ? 'uv' : await ownUv(progress);
  const files = pythonLocks[group].flatMap((file) => ['-r', file]);
  if (installer) await installByUv(installer, files, { progress, cpu: group === 'run' });
  else await installByPip(files, progress);
  // The installers compile what they install, not what was there already.
  if (cutShort)
    await attempt([places.venvPython, '-m', 'compileall', '-q', '-j', '0', places.venv], { progress });
  writeFileSync(stampOf(group), contentOf(group));
  rmSync(unfinished());
}

/** uv is the quick way; where it cannot be had, pip does the same. */
async function ownUv(progress) {
  const own = path.join(places.venv, 'bin', 'uv');
  if (existsSync(own)) return own;
  const { ok } = await attempt([places.venvPython, '-m', 'pip', 'install', '--quiet', UV], { progress });
  return ok && existsSync(own) ? own : undefined;
}

async function installByUv(uv, files, { progress, cpu }) {
  const command = [uv, 'pip', 'install', '--python', places.venvPython, '--compile-bytecode', ...files];
  // PyTorch for the CPU is 200 MB instead of 3 GB, but lies in an index of its own that not every network reaches.
  if (cpu && (await attempt([...command, '--torch-backend=cpu'], { progress, env: QUICK_TRY })).ok) return;
  await run(command, NETWORK, { progress });
}

const installByPip = (files, progress) =>
  run([places.venvPython, '-m', 'pip', 'install', '--compile', '--progress-bar=off', ...files], NETWORK, {
    progress,
  });

/** An installer believes a package's own record; one that was cut short may have a record but not the files. */
async function removeBroken(progress) {
  await attempt([places.venvPython, path.join(here, 'remove_broken.py')], { progress });
}
