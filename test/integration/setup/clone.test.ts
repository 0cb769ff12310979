/** Set-up as a whole, in a clone with tiny packages: npm, uv and Python are real, and need no network. */
import { type ChildProcessWithoutNullStreams, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { projectPython } from '../../support/emulator.ts';
import { folderOfTest } from '../../support/folders.ts';

const PROJECT = path.join(import.meta.dirname, '../../..');

let clone: string;
const children: ChildProcessWithoutNullStreams[] = [];

beforeEach(async () => {
  clone = folderOfTest('clone');
  for (const name of [
    'cli/bootstrap.mjs',
    'cli/setup',
    'packages/kit/mistyped.mjs',
    'packages/kit/nearest.mjs',
  ])
    await cp(path.join(PROJECT, name), path.join(clone, name), { recursive: true });
  await write('show.mjs', `console.log('ran on', process.version);`);
  await writeNodePackage();
  await makeWheel('alpha', 'A = 1');
  await makeWheel('omega', 'O = 1');
  await write('training/requirements.lock', wheelLine('alpha'));
  await write('emulators/aws/requirements.lock', '');
  await write('training/requirements-dev.lock', wheelLine('omega'));
});

afterEach(async () => {
  for (const { pid } of children.splice(0)) killGroup(pid);
});

async function write(name: string, text: string): Promise<void> {
  const file = path.join(clone, name);
  await mkdir(path.dirname(file), { recursive: true });
  await writeFile(file, text, { mode: 0o755 });
}

/** The clone's one npm package: a folder in it, whose program is the Node that runs this test. */
async function writeNodePackage(): Promise<void> {
  await write(
    'node-package/package.json',
    '{"name": "node", "version": "24.0.0", "bin": {"node": "node.sh"}}',
  );
  await write('node-package/node.sh', `#!/bin/sh\nexec '${process.execPath}' "$@"\n`);
  const manifest = { name: 'clone', version: '1.0.0', dependencies: { node: 'file:node-package' } };
  await write('package.json', JSON.stringify(manifest));
  const packages = {
    '': manifest,
    'node-package': { name: 'node', version: '24.0.0', bin: { node: 'node.sh' } },
    'node_modules/node': { resolved: 'node-package', link: true },
  };
  const lock = { name: 'clone', version: '1.0.0', lockfileVersion: 3, requires: true, packages };
  await write('package-lock.json', JSON.stringify(lock));
}

const wheelLine = (name: string): string =>
  `${name} @ file://${path.join(clone, `${name}-1.0-py3-none-any.whl`)}\n`;

async function makeWheel(name: string, code: string): Promise<void> {
  const info = `${name}-1.0.dist-info`;
  const files = {
    [`${name}/__init__.py`]: `${code}\n`,
    [`${info}/METADATA`]: `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n`,
    [`${info}/WHEEL`]: 'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    [`${info}/RECORD`]: `${name}/__init__.py,,\n${info}/METADATA,,\n${info}/WHEEL,,\n${info}/RECORD,,\n`,
  };
  const script = `import json, sys, zipfile
with zipfile.ZipFile(sys.argv[1], 'w') as wheel:
    for name, text in json.loads(sys.argv[2]).items():
        wheel.writestr(name, text)`;
  const file = path.join(clone, `${name}-1.0-py3-none-any.whl`);
  await promisify(execFile)(projectPython(), ['-c', script, file, JSON.stringify(files)]);
}

interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Started {
  readonly pid: number | undefined;
  readonly ended: Promise<Ended>;
  /** Resolves when this stands in its standard error. */
  said(text: string): Promise<void>;
}

/** A command of the clone, in a process group of its own, without an index of packages that answers. */
function start(args: readonly string[], environment: Readonly<Record<string, string>> = {}): Started {
  const child = spawn(process.execPath, [path.join(clone, 'cli/bootstrap.mjs'), ...args], {
    detached: true,
    cwd: clone,
    env: {
      HOME: clone,
      // uv may be the project's own.
      PATH: `${path.dirname(projectPython())}${path.delimiter}${process.env['PATH'] ?? ''}`,
      UV_DEFAULT_INDEX: 'http://127.0.0.1:9/simple',
      UV_HTTP_RETRIES: '0',
      npm_config_offline: 'true',
      ...environment,
    },
  });
  children.push(child);
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const ended = new Promise<Ended>((resolve) => {
    child.on('close', (code) => resolve({ code, stdout, stderr }));
  });
  const said = (text: string): Promise<void> =>
    new Promise((resolve, reject) => {
      const look = (): void => {
        if (stderr.includes(text)) resolve();
      };
      look();
      child.stderr.on('data', look);
      void ended.then(() => reject(new Error(`it never said "${text}":\n${stderr}`)));
    });
  return { pid: child.pid, ended, said };
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // It has ended.
  }
}

/** Runs it to its end and expects success. */
async function succeed(...args: string[]): Promise<Ended> {
  const result = await start(args).ended;
  if (result.code !== 0) throw new Error(`it ended with ${result.code}:\n${result.stderr}`);
  return result;
}

/** What the clone's Python prints. */
async function python(code: string): Promise<string> {
  const { stdout } = await promisify(execFile)(path.join(clone, '.venv/bin/python'), ['-c', code]);
  return stdout.trim();
}

it('one command installs all, once', async () => {
  const first = await succeed('run', '--python', 'show.mjs');
  expect(first.stdout).toBe(`ran on ${process.version}\n`);
  expect(first.stderr).toMatch(/✓ npm packages[\s\S]*✓ Python packages/);
  expect(await python('import alpha; print(alpha.A)')).toBe('1');
  await expect(python('import omega')).rejects.toThrow('ModuleNotFoundError');
  expect((await succeed('run', '--python', 'show.mjs')).stderr).toBe('');
});

it('a mistaken start is refused before set-up', async () => {
  const { code, stderr } = await start(['start', '--lmits', 'new-account', '--grace', '900']).ended;
  expect(code).toBe(2);
  expect(stderr.split('\n').slice(0, 2)).toEqual([
    '✗ there is no option --lmits; did you mean --limits?',
    '✗ --grace is "900": give seconds from 1 to 120',
  ]);
  expect(stderr).not.toContain('Setting up');
  expect((await start(['start', '--help']).ended).stdout).toContain('--limits PROFILE');
});

it('what a region cannot have is refused before Python', async () => {
  await write('cli/may-start.ts', `console.error('✗ the ports are taken'); process.exitCode = 1;`);
  await write('cli/start.ts', `console.log('started');`);
  const refused = await start(['start']).ended;
  expect(refused).toMatchObject({ code: 1, stdout: '' });
  expect(refused.stderr).toMatch(/✓ npm packages[\s\S]*✗ the ports are taken\n$/);
  expect(refused.stderr).not.toContain('Python packages');
  await write('cli/may-start.ts', '');
  expect(await start(['start']).ended).toMatchObject({ code: 0, stdout: 'started\n' });
});

it('a script without Python gets npm packages alone', async () => {
  const { stderr } = await succeed('run', 'show.mjs');
  expect(stderr).not.toContain('Python');
});

it('a killed set-up is repaired by the next', async () => {
  const killed = start(['setup']);
  await killed.said('Python packages');
  killGroup(killed.pid);
  await killed.ended;
  await succeed('setup');
  expect(await python('import alpha; print(alpha.A)')).toBe('1');
});

it('a half-installed package is repaired', async () => {
  await succeed('setup');
  // An installer believes the record of a package, whose files may be missing.
  await rm(path.join(clone, '.tidewheel/stamps'), { recursive: true });
  await rm(await python('import alpha; print(alpha.__file__)'));
  await succeed('setup');
  expect(await python('import alpha; print(alpha.A)')).toBe('1');
});

it('test packages survive other pins', async () => {
  await succeed('setup', '--develop');
  expect(await python('import alpha, omega; print(omega.O)')).toBe('1');
  await makeWheel('beta', 'B = 1');
  await write('emulators/aws/requirements.lock', wheelLine('beta'));
  await succeed('setup');
  expect(await python('import alpha, beta, omega; print(beta.B, omega.O)')).toBe('1 1');
  expect((await succeed('setup', '--develop')).stderr).not.toContain('Setting up');
});

it('of two set-ups at once the second waits', async () => {
  const first = start(['setup']);
  await first.said('Setting up with Node');
  const second = start(['setup']);
  await second.said(`Another set-up (process ${first.pid}) is at work here`);
  expect((await first.ended).code).toBe(0);
  const { code, stderr } = await second.ended;
  expect(code).toBe(0);
  expect(stderr).not.toContain('Setting up with Node');
});

it('a set-up without network gives the remedy', async () => {
  await write('training/requirements.lock', 'not-here==1.0\n');
  const { code, stderr } = await start(['setup']).ended;
  expect(code).toBe(1);
  expect(stderr.trimEnd().split('\n').at(-1)).toBe(
    '"uv pip install" failed with the lines above. Is the network there? Run the command again: what was fetched is not fetched twice.',
  );
});

it('a signalled set-up does not blame the network', async () => {
  await write('training/requirements.lock', 'not-here==1.0\n');
  const installs = Promise.withResolvers<void>();
  let requests = 0;
  const index = createServer((_, response) => {
    requests += 1;
    // The first request only asks whether PyTorch's own index answers.
    if (requests === 1) response.writeHead(404).end();
    else installs.resolve();
  }).listen(0, '127.0.0.1');
  try {
    await once(index, 'listening');
    const address = index.address();
    if (typeof address !== 'object' || address === null) throw new Error('the index has no port');
    const stopped = start(['setup'], { UV_DEFAULT_INDEX: `http://127.0.0.1:${address.port}/simple` });
    await installs.promise;
    if (stopped.pid !== undefined) process.kill(stopped.pid, 'SIGTERM');
    const { code, stderr } = await stopped.ended;
    expect(code).toBe(1);
    expect(stderr).toContain('Ended by SIGTERM. Run the command again');
    expect(stderr).not.toContain('Is the network there?');
  } finally {
    index.closeAllConnections();
    index.close();
  }
});
