/** Installs the npm packages and the Python environment: npm and uv do the work, with their own display. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { SetupError, searchPath } from './machine.mjs';
import { places, pythonLocks } from './places.mjs';
import { endingSignal, runInForeground, runQuietly } from './program.mjs';

const UV = 'uv==0.13.8';
const NETWORK = 'Is the network there?';
const AGAIN = 'Run the command again: what was fetched is not fetched twice.';

/** What installers must not inherit: it makes them refuse, or leave modules uncompiled. */
const UNWANTED = [
  'PYTHONDONTWRITEBYTECODE',
  'PYTHONHOME',
  'PIP_NO_COMPILE',
  'PIP_REQUIRE_VIRTUALENV',
  'VIRTUAL_ENV',
];

function environment(extra = {}) {
  const env = { ...process.env, PATH: searchPath(), UV_PYTHON_DOWNLOADS: 'never', ...extra };
  for (const name of UNWANTED) delete env[name];
  return env;
}

/**
 * Its output goes to our stderr, since stdout belongs to the program that set-up is for.
 * @param {readonly string[]} command
 * @param {() => Promise<string>} remedy asked for once it has failed
 */
async function install(command, remedy = async () => NETWORK) {
  const code = await runInForeground(command, { env: environment(), stdio: ['ignore', 2, 2] });
  if (endingSignal()) throw new SetupError(`Ended by ${endingSignal()}. ${AGAIN}`);
  if (code === 0) return;
  const name = command
    .slice(0, 3)
    .map((part) => path.basename(part))
    .join(' ');
  throw new SetupError(`"${name}" failed with the lines above. ${await remedy()} ${AGAIN}`);
}

/**
 * node_modules/.package-lock.json says what is there, whichever program installed it. npm writes it last.
 * @param {{ packageLock: string, nodeModules: string }} [files]
 */
export function nodePackagesAreCurrent({ packageLock, nodeModules } = places) {
  const wanted = packagesOf(packageLock);
  const present = packagesOf(path.join(nodeModules, '.package-lock.json'));
  if (!wanted || !present || !existsSync(path.join(nodeModules, '.bin', 'node'))) return false;
  const missing = Object.keys(wanted).some((name) => name && !wanted[name].optional && !present[name]);
  const other = Object.keys(present).some(
    (name) => !wanted[name] || wanted[name].version !== present[name].version,
  );
  return !missing && !other;
}

function packagesOf(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8')).packages;
  } catch {
    return undefined;
  }
}

export const installNodePackages = () =>
  install(['npm', 'ci', '--loglevel=error', '--no-audit', '--no-fund']);

/** A stamp is written when an installation is complete, and removed before the next one begins. */
const stampOf = (group) => path.join(places.stamps, `python-${group}`);

/** @param {'run' | 'develop'} group */
export const pythonIsCurrent = (group) =>
  existsSync(places.venvPython) &&
  existsSync(stampOf(group)) &&
  readFileSync(stampOf(group), 'utf8') === stampText(group);

/** The pins, the interpreter they were installed for, and where. */
function stampText(group) {
  const hash = createHash('sha256');
  for (const file of pythonLocks[group]) {
    if (!existsSync(file)) throw new SetupError(`${file} is missing: is this clone complete? (git status)`);
    hash.update(readFileSync(file)).update('\0');
  }
  return hash.update(`${places.venv}\0${realpathSync(places.venvPython)}`).digest('hex');
}

/** @param {'run' | 'develop'} wanted */
export async function installPython(wanted, { python, uv: hasUv }) {
  const isWhole =
    existsSync(stampOf('run')) &&
    (await runQuietly([places.venvPython, '-c', 'import encodings'])).code === 0;
  // The environment of a developer keeps the packages for tests.
  const group = isWhole && existsSync(stampOf('develop')) ? 'develop' : wanted;
  rmSync(places.stamps, { recursive: true, force: true });
  const uv = hasUv ? 'uv' : await ownUv(python);
  // An environment that was cut short may record packages whose files are not there. Its packages are in uv's cache.
  if (!isWhole) {
    rmSync(places.venv, { recursive: true, force: true });
    await install([uv, 'venv', '--python', python.path, places.venv]);
  }
  await installPackages(uv, [...(hasUv ? [] : [UV]), ...pythonLocks[group].flatMap((file) => ['-r', file])]);
  mkdirSync(places.stamps, { recursive: true });
  for (const name of group === 'run' ? ['run'] : ['run', 'develop'])
    writeFileSync(stampOf(name), stampText(name));
}

async function installPackages(uv, packages) {
  const pip = [uv, 'pip', 'install', '--python', places.venvPython];
  const cpu = '--torch-backend=cpu';
  const attempt = (words) =>
    runQuietly([...pip, '--dry-run', ...words, ...packages], {
      env: environment({ UV_HTTP_TIMEOUT: '10', UV_HTTP_RETRIES: '0' }),
    });
  // PyTorch for the CPU has 200 MB instead of 3 GB. Its index is one of its own, which some networks do not reach.
  const backend = (await attempt([cpu])).code === 0 ? [cpu] : [];
  await install([...pip, '--compile-bytecode', ...backend, ...packages], async () =>
    uvRemedy((await attempt(backend)).output),
  );
}

/** @param {string} output of a uv that failed: without a setting it trusts no certificates but its own */
export const uvRemedy = (output) =>
  output.includes('invalid peer certificate')
    ? "uv does not trust the certificate of the package index, or of a proxy before it: set UV_SYSTEM_CERTS=true (this system's certificates), or SSL_CERT_FILE=/path/to/certificates.pem."
    : NETWORK;

/** For a machine without uv: pip installs it into a folder of this clone, and into nothing else. */
async function ownUv(python) {
  const folder = path.join(places.state, UV.replace('==', '-'));
  const uv = path.join(folder, 'bin', 'uv');
  if ((await runQuietly([uv, '--version'])).code === 0) return uv;
  rmSync(folder, { recursive: true, force: true });
  if (python.venv) await install([python.path, '-m', 'venv', folder]);
  const pip = [
    python.venv ? path.join(folder, 'bin', 'python') : python.path,
    '-m',
    'pip',
    'install',
    '--quiet',
  ];
  await install([...pip, '--disable-pip-version-check', ...(python.venv ? [] : ['--target', folder]), UV]);
  return uv;
}
