/** Ports of the region: chosen once and kept, because queues, addresses and a user's shell know them. */
import { randomInt } from 'node:crypto';
import { access, mkdir, readFile, rename, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import * as z from 'zod';
import { LockedError, lockName } from '../shared/folder-lock.ts';
import { commandLineOf, holderOf } from './port-holders.ts';

const port = z.int().min(1).max(65_535);
const portsSchema = z.object({ aws: port, sageMaker: port, ec2: port });
export type Ports = Readonly<z.output<typeof portsSchema>>;

/** The state cannot be started on its ports; the message names who holds them, and the remedy. */
class PortsError extends Error {
  override readonly name = 'PortsError';
}

/** LocalStack's and MiniStack's usual port first: documentation and tools expect it. */
const PREFERRED: Ports = { aws: 4566, sageMaker: 4567, ec2: 4568 };
const FILE = 'ports.json';
/** The emulator of a start that was killed saves its state before it gives its port free. */
const PREDECESSOR_SECONDS = 20;
const LOOK_MILLISECONDS = 200;

interface StatePlace {
  readonly stateDirectory: string;
  /** The emulator's own folder in it. */
  readonly emulatorDirectory: string;
}

interface PortOptions extends StatePlace {
  /** false leaves the usual ports to others: for a region that users need not find. */
  readonly usual: boolean;
  /** Called when the ports are still held by the emulator of a start that was killed. */
  readonly onWait?: () => void;
  /** Called when a fresh state cannot have the usual ports. */
  readonly onMove?: (chosen: Ports) => void;
}

export interface ChosenPorts {
  readonly ports: Ports;
  /** Gives them to other regions of this machine; so does the end of the process. */
  readonly release: () => void;
}

/**
 * The ports that the state was deployed with; for a fresh state the usual ones if they are free, else any that are.
 * They are this region's from now on: it listens on them only seconds later, and another one may start meanwhile.
 * @throws PortsError when a deployed state cannot have its ports
 */
export async function choosePorts(options: PortOptions): Promise<ChosenPorts> {
  const file = join(options.stateDirectory, FILE);
  const deployed = await deployedPorts(options);
  if (deployed !== undefined) {
    const release = await claimDeployed(deployed);
    try {
      await ensureFree(deployed, options);
    } catch (error: unknown) {
      release();
      throw error;
    }
    return { ports: deployed, release };
  }
  const chosen = await firstFree([await readPorts(file), ...(options.usual ? [PREFERRED] : [])]);
  await mkdir(options.stateDirectory, { recursive: true });
  // Renamed into place, so that a kill leaves no half of it.
  await writeFile(`${file}.new`, `${JSON.stringify(chosen.ports)}\n`, { mode: 0o600 });
  await rename(`${file}.new`, file);
  if (options.usual && chosen.ports.aws !== PREFERRED.aws) options.onMove?.(chosen.ports);
  return chosen;
}

/**
 * Changes nothing. The emulator of a start that was killed is left to end.
 * @throws PortsError when a deployed state cannot have its ports
 */
export async function ensurePortsCanBeHad(place: StatePlace): Promise<void> {
  const deployed = await deployedPorts(place);
  if (deployed === undefined) return;
  const release = await claimDeployed(deployed);
  const taken = await takenOf(deployed).finally(release);
  if (taken.length > 0 && !isPredecessor(taken, place)) throw takenPorts(taken);
}

/** @throws PortsError when another region has them, even one that does not listen yet */
async function claimDeployed(ports: Ports): Promise<() => void> {
  const claimed = await claim(ports);
  if (!('taken' in claimed)) return claimed.release;
  const { port: number, pid } = claimed.taken;
  const command = pid === undefined ? '' : await commandLineOf(pid);
  throw takenPorts([{ port: number, pid, command }]);
}

interface TakenPort {
  readonly port: number;
  readonly pid: number | undefined;
}

async function claim(ports: Ports): Promise<{ release: () => void } | { taken: TakenPort }> {
  const releases: (() => void)[] = [];
  const release = () => {
    for (const free of releases.splice(0)) free();
  };
  for (const number of Object.values(ports)) {
    try {
      releases.push(await lockName(`port ${number}`));
    } catch (error: unknown) {
      release();
      if (!(error instanceof LockedError)) throw error;
      return { taken: { port: number, pid: error.pid } };
    }
  }
  return { release };
}

/** undefined for a fresh state */
async function deployedPorts({ stateDirectory, emulatorDirectory }: StatePlace): Promise<Ports | undefined> {
  // The emulator writes this note once it listens: from then on queue URLs, mappings and addresses may hold its port.
  if (!(await exists(join(emulatorDirectory, 'temporary')))) return undefined;
  const file = join(stateDirectory, FILE);
  const kept = await readPorts(file);
  if (kept === undefined) throw unknownPorts(file);
  return kept;
}

const isPredecessor = (taken: readonly Taken[], { emulatorDirectory }: StatePlace): boolean =>
  taken.every(({ command }) => command.includes(emulatorDirectory));

/**
 * Says that the state lives at another port than the region: queues, mappings and the API's address hold the port that
 * they were deployed with.
 */
export const movedPorts = (deployed: string, chosen: number): PortsError =>
  new PortsError(
    `this state was deployed with port ${deployed}, but ${FILE} names ${chosen}: write ${deployed} there, or start with another --state folder`,
  );

const unknownPorts = (file: string): PortsError =>
  new PortsError(
    `${file} does not hold the ports that this state was deployed with: restore it, or start with another --state folder`,
  );

async function ensureFree(ports: Ports, options: PortOptions): Promise<void> {
  const patience = Date.now() + PREDECESSOR_SECONDS * 1_000;
  for (let looks = 0; ; looks += 1) {
    const taken = await takenOf(ports);
    if (taken.length === 0) return;
    if (!isPredecessor(taken, options) || Date.now() > patience) throw takenPorts(taken);
    if (looks === 0) options.onWait?.();
    await delay(LOOK_MILLISECONDS);
  }
}

interface Taken extends TakenPort {
  readonly command: string;
}

async function takenOf(ports: Ports): Promise<readonly Taken[]> {
  const taken: Taken[] = [];
  for (const number of Object.values(ports)) {
    if ((await tryPort(number)) !== undefined) continue;
    const holder = await holderOf(number);
    // Its holder may have ended between the two looks.
    if (holder === undefined && (await tryPort(number)) !== undefined) continue;
    taken.push({ port: number, pid: holder?.pid, command: holder?.command ?? '' });
  }
  return taken;
}

const takenPorts = (taken: readonly Taken[]): PortsError => {
  const ports = taken.map(({ port: number, pid, command }) => {
    const holder = pid === undefined ? 'a process of another user' : `process ${pid} (${shortened(command)})`;
    return `port ${number}, which ${holder} has taken`;
  });
  return new PortsError(
    `this state was deployed with ${ports.join(', and ')}: stop what holds it, or start with another --state folder`,
  );
};

const COMMAND_CHARACTERS = 120;

const shortened = (command: string): string =>
  command.length > COMMAND_CHARACTERS ? `${command.slice(0, COMMAND_CHARACTERS)}…` : command;

async function firstFree(candidates: readonly (Ports | undefined)[]): Promise<ChosenPorts> {
  for (const ports of candidates) {
    const chosen = ports && (await claimFree(ports));
    if (chosen !== undefined) return chosen;
  }
  for (;;) {
    const [aws = 0, sageMaker = 0, ec2 = 0] = await freePorts(3);
    const chosen = await claimFree({ aws, sageMaker, ec2 });
    if (chosen !== undefined) return chosen;
  }
}

async function claimFree(ports: Ports): Promise<ChosenPorts | undefined> {
  const claimed = await claim(ports);
  if ('taken' in claimed) return undefined;
  const free = await Promise.all(
    Object.values(ports).map(async (port) => (await tryPort(port)) !== undefined),
  );
  if (free.every(Boolean)) return { ports, release: claimed.release };
  claimed.release();
  return undefined;
}

/** Below those that systems hand out by themselves: one of these is not taken by a connection before it is listened on. */
const [LOWEST_PORT, HIGHEST_PORT] = [20_000, 32_767];

async function freePorts(count: number): Promise<readonly number[]> {
  const found = new Set<number>();
  while (found.size < count) {
    const port = await tryPort(randomInt(LOWEST_PORT, HIGHEST_PORT + 1));
    if (port !== undefined) found.add(port);
  }
  return [...found];
}

async function readPorts(file: string): Promise<Ports | undefined> {
  try {
    return portsSchema.parse(JSON.parse(await readFile(file, 'utf8')));
  } catch {
    // Not there yet, or not ours to understand.
    return undefined;
  }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );

/** The port if it is free on the loopback address, else undefined. */
function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(undefined));
    server.listen(port, '127.0.0.1', () => {
      const address = server.address();
      const got = typeof address === 'object' && address !== null ? address.port : undefined;
      server.close(() => resolve(got));
    });
  });
}
