/** The parts of set-up, with real files and processes. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { nodePackagesAreCurrent, uvRemedy } from '../../../cli/setup/install.mjs';
import { withLock } from '../../../cli/setup/lock.mjs';
import { checkMachine } from '../../../cli/setup/machine.mjs';
import { runQuietly } from '../../../cli/setup/program.mjs';
import { folderOfTest } from '../../support/folders.ts';
import { selfSigned } from '../../support/self-signed.ts';

const at = (name: string) => path.resolve('cli/setup', name);

let folder: string;
const children: ChildProcess[] = [];

beforeEach(() => {
  folder = folderOfTest('setup');
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
});

describe('the lock', () => {
  /** A process that takes the lock, says so, and holds it. */
  async function holder(file: string): Promise<ChildProcess> {
    const script = `import { withLock } from ${JSON.stringify(at('lock.mjs'))};
      await withLock(${JSON.stringify(file)}, async () => { console.log('held'); await new Promise((r) => setTimeout(r, 600_000)); }, () => {});`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    children.push(child);
    await once(child.stdout, 'data');
    return child;
  }

  it('is awaited, and taken from a killed holder', async () => {
    const file = path.join(folder, 'lock');
    const first = await holder(file);
    const holders: string[] = [];
    const order: string[] = [];
    const second = withLock(
      file,
      async () => void order.push('second'),
      (pid) => holders.push(pid),
    );
    await new Promise((resolve) => setTimeout(resolve, 800));
    order.push('first is killed');
    first.kill('SIGKILL');
    await second;
    expect(holders).toEqual([String(first.pid)]);
    expect(order).toEqual(['first is killed', 'second']);
  });

  it("is ignored when its holder's number was reused", async () => {
    const file = path.join(folder, 'lock');
    await symlink(`${process.pid} 1`, file);
    expect(
      await withLock(
        file,
        async () => 'taken',
        () => undefined,
      ),
    ).toBe('taken');
  });

  it('lets one at a time through, however many come', async () => {
    const file = path.join(folder, 'lock');
    let inside = 0;
    let most = 0;
    const work = async () => {
      inside += 1;
      most = Math.max(most, inside);
      await new Promise((resolve) => setTimeout(resolve, 20));
      inside -= 1;
    };
    await Promise.all(Array.from({ length: 4 }, () => withLock(file, work, () => undefined)));
    expect(most).toBe(1);
  });

  it('is given back when the work fails', async () => {
    const file = path.join(folder, 'lock');
    const failing = withLock(
      file,
      () => Promise.reject(new Error('out of disk')),
      () => undefined,
    );
    await expect(failing).rejects.toThrow('out of disk');
    expect(
      await withLock(
        file,
        async () => 'taken',
        () => undefined,
      ),
    ).toBe('taken');
  });
});

describe('what the machine must have', () => {
  async function program(name: string, script: string): Promise<void> {
    await writeFile(path.join(folder, name), `#!/bin/sh\n${script}\n`);
    await chmod(path.join(folder, name), 0o755);
  }
  const python = (version: number[], venv: boolean) =>
    program('python3', `echo '${JSON.stringify({ path: '/some/python3', version, venv })}'`);

  it('is said all at once when it lacks', () => {
    expect(() => checkMachine({ PATH: folder, node: '18.19.0' })).toThrow(
      /Node 20 or newer is needed, this is 18\.19\.0[\s\S]*npm is missing[\s\S]*Python 3\.10 or newer is needed, none/,
    );
  });

  it('is a new enough Python with venv', async () => {
    await program('npm', 'echo 11');
    await python([3, 9, 2], true);
    expect(() => checkMachine({ PATH: folder })).toThrow(/found only 3\.9\.2 at \/some\/python3/);
    await python([3, 12, 1], false);
    expect(() => checkMachine({ PATH: folder })).toThrow(/apt-get install python3-venv/);
    await python([3, 12, 1], true);
    expect(checkMachine({ PATH: folder })).toMatchObject({
      python: { version: [3, 12, 1] },
      uv: false,
    });
  });

  it('is enough without venv where uv is', async () => {
    await program('npm', 'echo 11');
    await program('uv', 'echo uv 0.1');
    await python([3, 10, 0], false);
    expect(checkMachine({ PATH: folder })).toMatchObject({ uv: true });
  });

  it('is enough with pip instead of venv', async () => {
    await program('npm', 'echo 11');
    await program(
      'python3',
      `echo '{"path": "/some/python3", "version": [3, 10, 0], "venv": false, "pip": true}'`,
    );
    expect(checkMachine({ PATH: folder })).toMatchObject({ python: { version: [3, 10, 0] }, uv: false });
  });

  it('needs no Python for npm packages alone', async () => {
    await program('npm', 'echo 11');
    expect(checkMachine({ PATH: folder, needsPython: false })).toEqual({ uv: false });
  });
});

describe('the npm packages', () => {
  const lock = (packages: object) => JSON.stringify({ lockfileVersion: 3, packages });
  const places = () => ({
    packageLock: path.join(folder, 'package-lock.json'),
    nodeModules: path.join(folder, 'node_modules'),
  });
  async function install(packages: object): Promise<void> {
    await mkdir(path.join(folder, 'node_modules/.bin'), { recursive: true });
    await writeFile(path.join(folder, 'node_modules/.bin/node'), '');
    await writeFile(path.join(folder, 'node_modules/.package-lock.json'), lock(packages));
  }

  it('are current when they match the lock', async () => {
    const wanted = {
      '': {},
      'node_modules/a': { version: '1.0.0' },
      'node_modules/b': { version: '2.0.0', optional: true },
    };
    await writeFile(places().packageLock, lock(wanted));
    expect(nodePackagesAreCurrent(places())).toBe(false);
    await install({ 'node_modules/a': { version: '1.0.0' } });
    expect(nodePackagesAreCurrent(places())).toBe(true);
    await install({ 'node_modules/a': { version: '1.0.1' } });
    expect(nodePackagesAreCurrent(places())).toBe(false);
    await install({ 'node_modules/b': { version: '2.0.0' } });
    expect(nodePackagesAreCurrent(places())).toBe(false);
  });

  it('are not when npm was cut short', async () => {
    await writeFile(places().packageLock, lock({ 'node_modules/a': { version: '1.0.0' } }));
    await install({ 'node_modules/a': { version: '1.0.0' } });
    await rm(path.join(folder, 'node_modules/.package-lock.json'));
    expect(nodePackagesAreCurrent(places())).toBe(false);
  });
});

describe('a download that uv refuses', () => {
  const { key, certificate } = selfSigned('localhost');

  it.each([
    { what: 'for its certificate', isUp: true, remedy: 'set UV_SYSTEM_CERTS=true' },
    { what: 'because nothing answers', isUp: false, remedy: 'Is the network there?' },
  ])('$what has its own remedy', async ({ isUp, remedy }) => {
    const index = createServer({ key, cert: certificate }, (_, response) => response.end());
    index.listen(0, '127.0.0.1');
    await once(index, 'listening');
    const { port } = index.address() as AddressInfo;
    if (!isUp) index.close();
    const words = ['pip', 'install', '--dry-run', '--no-config', '--python', '.venv/bin/python', 'nothing'];
    const env = {
      ...process.env,
      PATH: `${path.resolve('.venv/bin')}:${process.env['PATH']}`,
      NO_PROXY: '127.0.0.1',
      UV_DEFAULT_INDEX: `https://127.0.0.1:${port}/simple`,
      UV_CACHE_DIR: folder,
      UV_HTTP_RETRIES: '0',
    };
    const { code, output } = await runQuietly(['uv', ...words], { env });
    index.close();
    expect(code).not.toBe(0);
    expect(output).toContain('Failed to fetch');
    expect(uvRemedy(output)).toContain(remedy);
  });
});

describe('the command', () => {
  const bootstrap = (...args: string[]) =>
    promisify(execFile)(process.execPath, [path.resolve('cli/bootstrap.mjs'), ...args]);

  it('explains itself, and refuses what it does not know', async () => {
    expect((await bootstrap('--help')).stdout).toContain('--with-check');
    await expect(bootstrap('strat')).rejects.toMatchObject({ code: 2 });
    await expect(bootstrap('test', 'untit')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('unknown: untit; the parts are unit, contract'),
    });
    await expect(bootstrap('run')).rejects.toMatchObject({
      code: 1,
      stderr: expect.stringContaining('run needs a script'),
    });
  });
});
