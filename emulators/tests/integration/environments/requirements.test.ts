/** What `pip install -r` in a host's environment changes, with real interpreters and an index on loopback. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { projectPython } from '../../../../test/support/emulator.ts';
import { folderOfSuite } from '../../../../test/support/folders.ts';
import { layEnvironment } from '../../../environments/host-environment.ts';

const run = promisify(execFile);
const ENVIRONMENTS = path.join(import.meta.dirname, '../../../environments');

const folder = folderOfSuite('environments');
let index: ChildProcess;
let indexUrl: string;
const requested: string[] = [];
let hosts = 0;

beforeAll(async () => {
  const program = path.join(import.meta.dirname, 'package_index.py');
  index = spawn(projectPython(), ['-B', program, path.join(folder, 'index')], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const lines = createInterface({ input: index.stdout ?? process.stdin });
  const port = await new Promise<string>((resolve) => lines.once('line', resolve));
  indexUrl = `http://127.0.0.1:${port}`;
  lines.on('line', (line) => requested.push(line));
});

afterAll(async () => {
  index?.kill();
});

const environments = () => path.join(folder, 'kept');
const newHost = async (): Promise<string> => {
  hosts += 1;
  return layEnvironment(projectPython(), path.join(folder, `host-${hosts}`), environments());
};
/** As the agent calls it. */
const pipArguments = (file: string) => [
  '-m',
  'pip',
  'install',
  '--no-input',
  '--disable-pip-version-check',
  '--progress-bar',
  'off',
  '--retries',
  '0',
  '-r',
  file,
];
const environment = (name: string) => ({
  PATH: '/usr/bin:/bin',
  PIP_INDEX_URL: indexUrl,
  HOME: folder,
  TIDEWHEEL_REQUIREMENTS: name,
});
async function requirements(text: string): Promise<string> {
  const file = path.join(folder, `requirements-${requested.length}-${hosts}.txt`);
  await writeFile(file, text);
  return file;
}
const install = async (python: string, text: string): Promise<string> => {
  const { stdout } = await run(python, pipArguments(await requirements(text)), { env: environment(text) });
  return stdout;
};
const numpyOf = async (python: string): Promise<string> =>
  (await run(python, ['-c', 'import numpy; print(numpy.__version__)'], { env: {} })).stdout.trim();
const fetched = (name: string): number =>
  requested.filter((line) => line.endsWith(`${name}-1.0-py3-none-any.whl`)).length;

test('what one host requires changes no other', async () => {
  const [mine, other] = [await newHost(), await newHost()];
  const before = await numpyOf(projectPython());
  await install(mine, 'numpy==0.0.1');
  expect([await numpyOf(mine), await numpyOf(other), await numpyOf(projectPython())]).toEqual([
    '0.0.1',
    before,
    before,
  ]);
});

test('hosts that require the same install it once', async () => {
  const both = [await newHost(), await newHost()];
  await Promise.all(both.map((python) => install(python, 'kept==1.0  # at once')));
  const later = await newHost();
  expect(await install(later, 'kept==1.0  # at once')).toContain('environment of an earlier attempt');
  expect(fetched('kept')).toBe(1);
  for (const python of [...both, later]) {
    const { stdout } = await run(path.join(path.dirname(python), 'kept-tell'), [], { env: {} });
    expect(stdout).toContain('/kept/__init__.py');
  }
});

test('an environment over another one is filled', async () => {
  const over = await layEnvironment(
    await newHost(),
    path.join(folder, 'over'),
    path.join(folder, 'kept-over'),
  );
  await install(over, 'numpy==0.0.1');
  expect(await numpyOf(over)).toBe('0.0.1');
});

test('what the agent names otherwise is another environment', async () => {
  const before = (await readdir(environments())).length;
  await install(await newHost(), 'kept');
  const python = await newHost();
  const file = await requirements('kept');
  await run(python, pipArguments(file), { env: environment('kept by another index') });
  expect((await readdir(environments())).length).toBe(before + 4);
  await run(python, pipArguments(file), { env: environment('') });
  expect((await readdir(environments())).length).toBe(before + 4);
});

test('an installation that was killed is made again', async () => {
  const file = await requirements('kept==1.0\nslow==1.0');
  // pip keeps nothing of an index without TLS that it does not trust.
  const env = { ...environment('kept and slow'), PIP_TRUSTED_HOST: '127.0.0.1' };
  const options = { env, detached: true, stdio: 'ignore' } as const;
  const killed = spawn(await newHost(), pipArguments(file), options);
  const before = fetched('kept');
  while (fetched('slow') === 0) await new Promise((resolve) => setTimeout(resolve, 50));
  process.kill(-(killed.pid ?? 0), 'SIGKILL');
  const python = await newHost();
  await run(python, pipArguments(file), { env });
  expect(fetched('slow')).toBe(2);
  // The attempt that was cut short had fetched it.
  expect(fetched('kept')).toBe(before + 1);
  await run(python, ['-c', 'import kept, slow'], { env: {} });
});

test('one that was killed and never required again goes', async () => {
  const left = path.join(environments(), 'left');
  await mkdir(left);
  await writeFile(`${left}.lock`, '');
  await install(await newHost(), 'kept==1.0 # at last');
  expect(existsSync(left)).toBe(false);
});

test('the least recently used go, those in use stay', async () => {
  const trim = `import sys; sys.path.insert(0, sys.argv[1]); import pathlib, kept_environments as kept
kept._remove_least_recent(pathlib.Path(sys.argv[2]), most_bytes=int(sys.argv[3]))`;
  const names = async () => (await readdir(environments())).filter((name) => !name.endsWith('.lock')).length;
  const keep = (bytes: number) =>
    run(projectPython(), ['-B', '-c', trim, ENVIRONMENTS, environments(), String(bytes)]);
  const all = await names();
  await keep(1e12);
  await keep(0);
  expect(await names()).toBe(all);
  for (let host = 1; host < hosts; host += 1)
    await rm(path.join(folder, `host-${host}`), { recursive: true });
  await keep(0);
  expect(await names()).toBe(1);
});

test("packages of an image lie below the job's own", async () => {
  vi.stubEnv('PIP_INDEX_URL', indexUrl);
  const [before, fetchedBefore] = [await numpyOf(projectPython()), fetched('kept')];
  const lay = (name: string): Promise<string> =>
    layEnvironment(projectPython(), path.join(folder, name), environments(), {
      packages: ['kept==1.0', 'numpy==0.0.1'],
    });
  const hosts = await Promise.all([lay('image-1'), lay('image-2')]);
  expect(fetched('kept')).toBe(fetchedBefore + 1);
  // What the Python below has stays, whatever the image has.
  expect(await Promise.all(hosts.map(numpyOf))).toEqual([before, before]);
  await install(hosts[0], 'numpy==0.0.1');
  expect(await Promise.all(hosts.map(numpyOf))).toEqual(['0.0.1', before]);
  for (const python of hosts) await run(path.join(path.dirname(python), 'kept-tell'), [], { env: {} });
});

test('packages that no index has are named', async () => {
  vi.stubEnv('PIP_INDEX_URL', indexUrl);
  const packages = ['absent==1.0'];
  const laid = layEnvironment(projectPython(), path.join(folder, 'absent'), environments(), { packages });
  await expect(laid).rejects.toThrow('No matching distribution found for absent==1.0');
});

test('a package without CUDA stands for the other one', async () => {
  vi.stubEnv('PIP_INDEX_URL', indexUrl);
  const lay = (below: string, name: string) =>
    layEnvironment(below, path.join(folder, name), environments(), { packages: ['xgboost==1.0'] });
  const hasOwn = process.platform === 'linux' && process.arch === 'x64';
  const wanted = `No matching distribution found for xgboost${hasOwn ? '-cpu' : ''}==1.0`;
  await expect(lay(projectPython(), 'without')).rejects.toThrow(wanted);
  const host = await newHost();
  const [site = ''] = (await readdir(path.join(host, '../../lib'))).filter((name) =>
    name.startsWith('python'),
  );
  const installed = path.join(host, '../../lib', site, 'site-packages/xgboost_cpu-1.0.dist-info');
  await mkdir(installed);
  await writeFile(
    path.join(installed, 'METADATA'),
    'Metadata-Version: 2.1\nName: xgboost-cpu\nVersion: 1.0\n',
  );
  await lay(host, 'with');
});
