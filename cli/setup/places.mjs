/** Where set-up finds and keeps things. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';

const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '../..');
const at = (...parts) => path.join(root, ...parts);

export const places = {
  root,
  state: at('.tidewheel'),
  stamps: at('.tidewheel', 'stamps'),
  lock: at('.tidewheel', 'setting-up'),
  program: at('.tidewheel', 'program'),
  results: at('.tidewheel', 'results'),
  venv: at('.venv'),
  venvPython: at('.venv', 'bin', 'python'),
  nodeModules: at('node_modules'),
  node: at('node_modules', '.bin', 'node'),
  packageLock: at('package-lock.json'),
};

const run = [at('training', 'requirements.lock'), at('emulators', 'aws', 'requirements.lock')];

/** The pins of the Python environment: for `npm start`, and for tests and checks too. */
export const pythonLocks = { run, develop: [...run, at('training', 'requirements-dev.lock')] };
