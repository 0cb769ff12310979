/** Keeps the jobs on one machine apart: an address range and a port for each. */
import { createServer } from 'node:net';
import { MAXIMUM_SLOTS } from './container.ts';

export interface AddressBook {
  /** Number of a free address range. */
  takeSlot(): number;
  /** The first of PORTS_PER_JOB free ports, outside the range of outgoing connections. */
  takePorts(): Promise<number>;
  release(slot: number | undefined, firstPort: number | undefined): void;
}

/** Strategies need some beside the master's own. */
const PORTS_PER_JOB = 10;
const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;
const BLOCKS = (LAST_PORT - FIRST_PORT) / PORTS_PER_JOB;

/** random: in [0, 1); two servers on one machine must not walk through the ports in step. */
export function makeAddressBook(random: () => number): AddressBook {
  const slots = new Set<number>();
  const taken = new Set<number>();
  return {
    takeSlot: () => {
      for (let slot = 0; slot < MAXIMUM_SLOTS; slot += 1) {
        if (slots.has(slot)) continue;
        slots.add(slot);
        return slot;
      }
      throw new Error(`all ${MAXIMUM_SLOTS} address ranges are in use, stop some training jobs`);
    },
    takePorts: async () => {
      for (let attempt = 0; attempt < 1_000; attempt += 1) {
        const first = FIRST_PORT + Math.floor(random() * BLOCKS) * PORTS_PER_JOB;
        if (taken.has(first)) continue;
        // Before the check, so that another job that asks meanwhile looks elsewhere.
        taken.add(first);
        const block = Array.from({ length: PORTS_PER_JOB }, (_, index) => first + index);
        if ((await Promise.all(block.map(isFree))).every(Boolean)) return first;
        taken.delete(first);
      }
      throw new Error(`found no ${PORTS_PER_JOB} free ports between ${FIRST_PORT} and ${LAST_PORT}`);
    },
    release: (slot, firstPort) => {
      if (slot !== undefined) slots.delete(slot);
      if (firstPort !== undefined) taken.delete(firstPort);
    },
  };
}

/** On every address: torch, TensorFlow and Ray bind to all of them. */
function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once('error', () => resolve(false));
  server.listen({ port, host: '0.0.0.0', exclusive: true }, () => server.close(() => resolve(true)));
  return promise;
}
