/** What must be on the machine before anything can be installed. Everything missing is said at once. */
import { spawnSync } from 'node:child_process';
import { delimiter } from 'node:path';
import { withoutProject } from './command.mjs';
import { SetupError } from './fail.mjs';
import { OLDEST_NODE, OLDEST_PYTHON } from './places.mjs';

const PYTHONS = ['python3', 'python3.13', 'python3.12', 'python3.11', 'python3.10', 'python3.14', 'python'];

/** Prints path, version and whether a virtual environment with pip can be made. */
const ABOUT = `
import json, sys, importlib.util as u
print(json.dumps({"path": sys.executable, "version": list(sys.version_info[:3]),
  "venv": bool(u.find_spec("venv") and u.find_spec("ensurepip"))}))`;

/**
 * @returns {{ python: { path: string, version: number[], venv: boolean }, uv: boolean }}
 * @throws {SetupError} naming everything that is missing, with its remedy
 */
export function checkMachine({
  searchPath = withoutProject(process.env.PATH ?? ''),
  nodeVersion = process.versions.node,
} = {}) {
  const problems = [];
  if (!isAtLeast(nodeVersion.split('.').map(Number), OLDEST_NODE)) {
    problems.push(
      `Node ${OLDEST_NODE[0]} or newer is needed, this is ${nodeVersion}: install it from nodejs.org or your system's packages.`,
    );
  }
  if (!works(['npm', '--version'], searchPath)) {
    problems.push('npm is missing: it comes with Node (Debian, Ubuntu: apt-get install npm).');
  }
  const uv = works(['uv', '--version'], searchPath);
  const found = findPythons(searchPath);
  const python = found.find((one) => isAtLeast(one.version, OLDEST_PYTHON) && (uv || one.venv));
  if (!python) problems.push(pythonProblem(found, searchPath));
  if (problems.length > 0)
    throw new SetupError(`This machine lacks what Tidewheel needs:\n\n- ${problems.join('\n- ')}`);
  return { python, uv };
}

function pythonProblem(found, searchPath) {
  const recent = found.find((one) => isAtLeast(one.version, OLDEST_PYTHON));
  if (recent) {
    return (
      `Python ${recent.version.join('.')} at ${recent.path} cannot make virtual environments: ` +
      'on Debian or Ubuntu run "apt-get install python3-venv", or install uv.'
    );
  }
  const wanted = `Python ${OLDEST_PYTHON.join('.')} or newer is needed`;
  const seen = found.map((one) => `${one.version.join('.')} at ${one.path}`).join(', ');
  return seen
    ? `${wanted}, found only ${seen}: install a newer one (Debian, Ubuntu: apt-get install python3 python3-venv).`
    : `${wanted}, none was found on PATH (${searchPath.split(delimiter).length} folders): apt-get install python3 python3-venv, or python.org.`;
}

function findPythons(searchPath) {
  return PYTHONS.flatMap((name) => {
    const asked = spawnSync(name, ['-c', ABOUT], {
      encoding: 'utf8',
      env: { ...process.env, PATH: searchPath },
    });
    return asked.status === 0 ? [JSON.parse(asked.stdout)] : [];
  });
}

const works = ([program, ...args], searchPath) =>
  spawnSync(program, args, { encoding: 'utf8', env: { ...process.env, PATH: searchPath } }).status === 0;

export const isAtLeast = (version, oldest) =>
  version[0] > oldest[0] || (version[0] === oldest[0] && (version[1] ?? 0) >= oldest[1]);
