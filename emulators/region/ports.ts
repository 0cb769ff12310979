/** Ports of the region: chosen once and kept, because deployed functions and a user's shell know them. */

import { randomInt } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';

export interface Ports {
  readonly aws: number;
  readonly sageMaker: number;
  readonly ec2: number;
}

/** LocalStack's and MiniStack's usual port first: documentation and tools expect it. */
const PREFERRED: Ports = { aws: 4566, sageMaker: 4567, ec2: 4568 };

/**
 * The ports of last time if they are free, else the usual ones, else any that are.
 * @param usual false leaves the usual ones to others: for a region that no client should find
 */
export async function choosePorts(stateDirectory: string, usual = true): Promise<Ports> {
  const file = join(stateDirectory, 'ports.json');
  const ports = await firstFree([await readPorts(file), ...(usual ? [PREFERRED] : [])]);
  await mkdir(stateDirectory, { recursive: true });
  await writeFile(file, `${JSON.stringify(ports)}\n`);
  return ports;
}

async function firstFree(candidates: readonly (Ports | undefined)[]): Promise<Ports> {
  for (const ports of candidates) {
    if (ports === undefined) continue;
    const free = await Promise.all(
      Object.values(ports).map(async (port) => (await tryPort(Number(port))) !== undefined),
    );
    if (free.every(Boolean)) return ports;
  }
  const [aws = 0, sageMaker = 0, ec2 = 0] = await freePorts(3);
  return { aws, sageMaker, ec2 };
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
    const value: unknown = JSON.parse(await readFile(file, 'utf8'));
    return isPorts(value) ? value : undefined;
  } catch {
    // Not there yet, or cut off by a kill: choose again.
    return undefined;
  }
}

const isPorts = (value: unknown): value is Ports =>
  typeof value === 'object' &&
  value !== null &&
  ['aws', 'sageMaker', 'ec2'].every((name) => Number.isInteger((value as Record<string, unknown>)[name]));

/** The port when it can be had on the loopback address, else undefined. */
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
