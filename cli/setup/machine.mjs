/** What must be on the machine before anything can be installed. One error names everything that is missing. */
import { spawnSync } from 'node:child_process';
import { delimiter } from 'node:path';
import { places } from './places.mjs';

const OLDEST_NODE = [20, 0];
const OLDEST_PYTHON = [3, 10];
const PYTHONS = ['python3', 'python3.13', 'python3.12', 'python3.11', 'python3.10', 'python3.14', 'python'];

/** Set-up cannot go on, and the message gives the remedy. Everything else that is thrown is a defect. */
export class SetupError extends Error {}

/** PATH without the programs that set-up installs: `npm ci` removes the Node in node_modules/.bin. */
export const searchPath = () =>
  (process.env.PATH || '')
    .split(delimiter)
    .filter((folder) => !folder.startsWith(places.nodeModules) && !folder.startsWith(places.venv))
    .join(delimiter);

/** Debian and Ubuntu keep ensurepip in the package python3-venv. */
const ABOUT = `
import json, sys
from importlib.util import find_spec
print(json.dumps({"path": sys.executable, "version": sys.version_info[:3],
  "venv": bool(find_spec("venv") and find_spec("ensurepip")), "pip": bool(find_spec("pip"))}))`;

/**
 * @returns {{ python?: { path: string, version: number[], venv: boolean, pip: boolean }, uv: boolean }}
 * `venv`: Python can make an environment with pip. `uv`: uv is on PATH.
 * @throws {SetupError}
 */
export function checkMachine({ needsPython = true, PATH = searchPath(), node = process.versions.node } = {}) {
  const ask = (...command) => {
    const { status, stdout } = spawnSync(command[0], command.slice(1), {
      encoding: 'utf8',
      env: { ...process.env, PATH },
    });
    return status === 0 ? stdout : undefined;
  };
  const problems = [];
  if (!isAtLeast(node.split('.').map(Number), OLDEST_NODE)) {
    problems.push(`Node 20 or newer is needed, this is ${node}: install it from nodejs.org.`);
  }
  if (ask('npm', '--version') === undefined) {
    problems.push('npm is missing: it comes with Node (Debian, Ubuntu: apt-get install npm).');
  }
  const uv = ask('uv', '--version') !== undefined;
  const pythons = needsPython
    ? PYTHONS.map((name) => ask(name, '-c', ABOUT))
        .filter(Boolean)
        .map(JSON.parse)
    : [];
  const recent = pythons.filter(({ version }) => isAtLeast(version, OLDEST_PYTHON));
  const python = recent.find(({ venv, pip }) => uv || venv || pip);
  if (needsPython && !python) problems.push(pythonProblem(recent[0], pythons[0]));
  if (problems.length === 0) return { python, uv };
  throw new SetupError(`This machine lacks what Tidewheel needs:\n\n- ${problems.join('\n- ')}`);
}

function pythonProblem(recent, old) {
  if (recent) {
    return `${nameOf(recent)} has neither ensurepip nor pip: install uv, or on Debian and Ubuntu apt-get install python3-venv.`;
  }
  const found = old ? `found only ${nameOf(old)}` : 'none was found on PATH';
  return `Python 3.10 or newer is needed, ${found}: install it from python.org (Debian, Ubuntu: apt-get install python3 python3-venv).`;
}

const nameOf = ({ version, path }) => `${version.join('.')} at ${path}`;

const isAtLeast = ([major, minor], [oldestMajor, oldestMinor]) =>
  major > oldestMajor || (major === oldestMajor && minor >= oldestMinor);
