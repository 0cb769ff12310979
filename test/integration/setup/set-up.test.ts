/** The parts of set-up, with real files and processes; the whole of it is what every fresh clone does. */
import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { projectPython } from '../../support/emulator.ts';

const at = (name: string) => path.resolve('cli/setup', name);
const { withLock } = (await import(at('lock.mjs'))) as {
  withLock: <T>(file: string, work: () => Promise<T>, onWait: (holder: number) => void) => Promise<T>;
};
const { checkMachine } = (await import(at('requirements.mjs'))) as {
  checkMachine: (options: { searchPath: string; nodeVersion?: string }) => {
    python: { version: number[] };
    uv: boolean;
  };
};
const { nodePackagesAreCurrent } = (await import(at('node-packages.mjs'))) as {
  nodePackagesAreCurrent: (places: { packageLock: string; nodeModules: string }) => boolean;
};

let folder: string;
const children: ChildProcess[] = [];

beforeEach(async () => {
  folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-setup-'));
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  await rm(folder, { recursive: true, force: true });
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

  it('is waited for while its holder lives, and taken when it was killed', async () => {
    const file = path.join(folder, 'lock');
    const first = await holder(file);
    const told: number[] = [];
    const order: string[] = [];
    const second = withLock(
      file,
      async () => void order.push('second'),
      (pid) => told.push(pid),
    );
    await new Promise((resolve) => setTimeout(resolve, 800));
    order.push('first is killed');
    first.kill('SIGKILL');
    await second;
    expect(told).toEqual([first.pid]);
    expect(order).toEqual(['first is killed', 'second']);
  });

  it('is not believed when another process has the number of its holder', async () => {
    const file = path.join(folder, 'lock');
    await writeFile(file, JSON.stringify({ pid: process.pid, started: 'long ago' }));
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
    expect(() => checkMachine({ searchPath: folder, nodeVersion: '18.19.0' })).toThrow(
      /Node 20 or newer is needed, this is 18\.19\.0[\s\S]*npm is missing[\s\S]*Python 3\.10 or newer is needed, none/,
    );
  });

  it('is a Python that is new enough and can make environments', async () => {
    await program('npm', 'echo 11');
    await python([3, 9, 2], true);
    expect(() => checkMachine({ searchPath: folder })).toThrow(/found only 3\.9\.2 at \/some\/python3/);
    await python([3, 12, 1], false);
    expect(() => checkMachine({ searchPath: folder })).toThrow(/apt-get install python3-venv/);
    await python([3, 12, 1], true);
    expect(checkMachine({ searchPath: folder })).toMatchObject({
      python: { version: [3, 12, 1] },
      uv: false,
    });
  });

  it('is enough without venv where uv is', async () => {
    await program('npm', 'echo 11');
    await program('uv', 'echo uv 0.1');
    await python([3, 10, 0], false);
    expect(checkMachine({ searchPath: folder })).toMatchObject({ uv: true });
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

  it('are current when they are what the lock says, optional ones aside', async () => {
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

describe('a Python environment that was cut short', () => {
  const run = promisify(execFile);

  /** A package as an installer leaves it: its files, and the record of them. */
  async function writePackage(name: string, recordedSize: number): Promise<string> {
    const { stdout } = await run(path.join(folder, 'venv/bin/python'), [
      '-c',
      'import site; print(site.getsitepackages()[0])',
    ]);
    const packages = stdout.trim();
    const info = path.join(packages, `${name}-1.0.dist-info`);
    await mkdir(info);
    await mkdir(path.join(packages, name));
    await writeFile(path.join(packages, name, '__init__.py'), 'x = 1\n');
    await writeFile(path.join(info, 'METADATA'), `Metadata-Version: 2.1\nName: ${name}\nVersion: 1.0\n`);
    await writeFile(
      path.join(info, 'RECORD'),
      `${name}/__init__.py,,${recordedSize}\n${name}-1.0.dist-info/METADATA,,\n`,
    );
    return info;
  }

  it('loses the records of what is not all there, and keeps the others', async () => {
    await run(projectPython(), ['-m', 'venv', '--without-pip', path.join(folder, 'venv')]);
    const whole = await writePackage('whole', 6);
    const broken = await writePackage('broken', 600);
    const { stdout } = await run(path.join(folder, 'venv/bin/python'), [at('remove_broken.py')]);
    expect(stdout).toBe('incomplete: broken-1.0.dist-info\n');
    await expect(readFile(path.join(whole, 'RECORD'), 'utf8')).resolves.toContain('whole');
    await expect(readFile(path.join(broken, 'RECORD'), 'utf8')).rejects.toThrow('ENOENT');
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
  });
});
