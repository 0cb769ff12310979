/** A deployed state keeps its ports: what it holds (queue URLs, the API's address) is at those and nowhere else. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:net';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { folderOfTest } from '../../../../test/support/folders.ts';
import { holderOf } from '../../../region/port-holders.ts';
import { type ChosenPorts, choosePorts, ensurePortsCanBeHad, type Ports } from '../../../region/ports.ts';
import { lockFolder } from '../../../shared/folder-lock.ts';

let folder: string;
const children: ChildProcess[] = [];
const servers: Server[] = [];

beforeEach(() => {
  folder = folderOfTest('ports');
});

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  for (const server of servers.splice(0)) server.close();
});

const emulatorDirectory = () => path.join(folder, 'aws');
const claim = (stateDirectory: string, onWait?: () => void): Promise<ChosenPorts> =>
  choosePorts({
    stateDirectory,
    emulatorDirectory: path.join(stateDirectory, 'aws'),
    usual: false,
    ...(onWait && { onWait }),
  });
/** As a start that has ended since. */
async function choose(onWait?: () => void): Promise<Ports> {
  const { ports, release } = await claim(folder, onWait);
  release();
  return ports;
}

/** What the emulator leaves as soon as it listens. */
async function deploy(): Promise<void> {
  await mkdir(emulatorDirectory(), { recursive: true });
  await writeFile(path.join(emulatorDirectory(), 'temporary'), '');
}

async function listenOn(port: number): Promise<void> {
  const server = createServer().listen(port, '127.0.0.1');
  servers.push(server);
  await once(server, 'listening');
}

/** A process of its own that listens; `words` stand in its command line. */
async function listenElsewhere(port: number, words: readonly string[], seconds = 60): Promise<number> {
  const script = `require('net').createServer().listen(${port}, '127.0.0.1', () => console.log('up'));
    setTimeout(() => process.exit(), ${seconds * 1_000})`;
  const child = spawn(process.execPath, ['-e', script, '--', ...words], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  await once(child.stdout, 'data');
  return child.pid ?? 0;
}

describe('the holder of a port', () => {
  it('is named with its command', async () => {
    const { aws } = await choose();
    const pid = await listenElsewhere(aws, ['some', 'words']);
    const holder = await holderOf(aws);
    expect(holder?.pid).toBe(pid);
    expect(holder?.command).toMatch(/node -e .* -- some words$/);
  });

  it('is undefined where no process listens', async () => {
    expect(await holderOf((await choose()).aws)).toBeUndefined();
  });
});

describe('a fresh state', () => {
  it('keeps the ports of its first start', async () => {
    const first = await choose();
    expect(new Set(Object.values(first)).size).toBe(3);
    expect(await choose()).toEqual(first);
  });

  it('takes other ports when its own are taken', async () => {
    const first = await choose();
    await listenOn(first.ec2);
    const second = await choose();
    expect(Object.values(second)).not.toContain(first.ec2);
    expect(await choose()).toEqual(second);
  });
});

describe('two regions that start at the same moment', () => {
  const second = () => path.join(folder, 'second');

  /** Another state that would have the same ports. */
  async function sharePorts(): Promise<Ports> {
    const ports = await choose();
    await mkdir(second());
    await writeFile(path.join(second(), 'ports.json'), JSON.stringify(ports));
    return ports;
  }

  it('get ports of their own, though neither listens yet', async () => {
    const ports = await sharePorts();
    const chosen = await Promise.all([claim(folder), claim(second())]);
    const all = chosen.flatMap((one) => Object.values(one.ports));
    expect(new Set(all).size).toBe(6);
    expect(all).toContain(ports.aws);
    for (const { release } of chosen) release();
  });

  it('are refused where both states have the same ports', async () => {
    const ports = await sharePorts();
    await deploy();
    await mkdir(path.join(second(), 'aws'));
    await writeFile(path.join(second(), 'aws', 'temporary'), '');
    const { release } = await claim(folder);
    const refusal = new RegExp(
      `^this state was deployed with port ${ports.aws}, which process ${process.pid} \\(.+\\) has taken: `,
    );
    await expect(claim(second())).rejects.toThrow(refusal);
    const place = { stateDirectory: second(), emulatorDirectory: path.join(second(), 'aws') };
    await expect(ensurePortsCanBeHad(place)).rejects.toThrow(refusal);
    release();
    await ensurePortsCanBeHad(place);
    (await claim(second())).release();
  });
});

describe('a deployed state', () => {
  it('is refused when another process has a port', async () => {
    const ports = await choose();
    await deploy();
    const pid = await listenElsewhere(ports.sageMaker, ['another', 'program']);
    await expect(choose()).rejects.toThrow(
      new RegExp(
        `^this state was deployed with port ${ports.sageMaker}, which process ${pid} \\(.*node -e .*\\) has taken: ` +
          'stop what holds it, or start with another --state folder$',
      ),
    );
    expect(JSON.parse(await readFile(path.join(folder, 'ports.json'), 'utf8'))).toEqual(ports);
  });

  it('waits for the emulator of a killed start', async () => {
    const ports = await choose();
    await deploy();
    await listenElsewhere(ports.aws, ['--state', emulatorDirectory()], 1);
    let waits = 0;
    expect(
      await choose(() => {
        waits += 1;
      }),
    ).toEqual(ports);
    expect(waits).toBe(1);
  });

  it.each([undefined, '', '{"aws":4566', '{"aws":0,"sageMaker":1,"ec2":2}'])(
    'is refused when its ports file holds %j',
    async (content) => {
      await deploy();
      if (content !== undefined) await writeFile(path.join(folder, 'ports.json'), content);
      await expect(choose()).rejects.toThrow('does not hold the ports that this state was deployed with');
    },
  );
});

describe('a state folder', () => {
  it('has one user at a time', async () => {
    const unlock = await lockFolder(folder, 'region');
    await expect(lockFolder(folder, 'region')).rejects.toThrow(
      `${folder} is in use by another region (process ${process.pid}): stop that one, or name another folder`,
    );
    (await lockFolder(folder, 'local SageMaker'))();
    unlock();
    (await lockFolder(folder, 'region'))();
  });

  it('is free again when its user was killed', async () => {
    const module = path.resolve(import.meta.dirname, '../../../shared/folder-lock.ts');
    const script = `await (await import(${JSON.stringify(module)})).lockFolder(${JSON.stringify(folder)}, 'region');
      console.log('locked'); setInterval(() => {}, 1_000);`;
    const holder = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    await once(holder.stdout, 'data');
    await expect(lockFolder(folder, 'region')).rejects.toThrow(`(process ${holder.pid})`);
    holder.kill('SIGKILL');
    await once(holder, 'exit');
    (await lockFolder(folder, 'region'))();
  });
});
