/** Where set-up finds and keeps things, and which pinned tools it uses. Plain JavaScript: it runs before anything is installed. */
import path from 'node:path';
import { fileURLToPath } from 'node:url';

/** import.meta.dirname came with Node 20.11. */
export const here = path.dirname(fileURLToPath(import.meta.url));
export const root = path.resolve(here, '../..');

const at = (...parts) => path.join(root, ...parts);

export const places = {
  root,
  state: at('.tidewheel'),
  stamps: at('.tidewheel', 'stamps'),
  logs: at('.tidewheel', 'logs'),
  log: at('.tidewheel', 'logs', 'setup.log'),
  lock: at('.tidewheel', 'setup.lock'),
  venv: at('.venv'),
  venvPython: at('.venv', 'bin', 'python'),
  nodeModules: at('node_modules'),
  node: at('node_modules', '.bin', 'node'),
  packageLock: at('package-lock.json'),
  results: at('.tidewheel', 'results'),
};

/** What `npm start` needs in the Python environment, and what tests and checks need beside it. */
export const pythonLocks = {
  run: [at('training', 'requirements.lock'), at('emulators', 'aws', 'requirements.lock')],
  develop: [at('training', 'requirements-dev.lock')],
};

export const UV = 'uv==0.13.8';
export const OLDEST_NODE = [20, 0];
export const OLDEST_PYTHON = [3, 10];
