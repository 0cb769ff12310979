/** Keeps the jobs on one machine apart: an address range and a port for each. */
import { createServer } from 'node:net';
import { MAXIMUM_SLOTS } from './container.ts';

export interface AddressBook {
  /** Number of a free address range. */
  takeSlot(): number;
  /** A port that nobody listens on, outside the range that outgoing connections take theirs from. */
  takePort(): Promise<number>;
  release(slot: number | undefined, port: number | undefined): void;
}

const FIRST_PORT = 20_000;
const LAST_PORT = 32_000;

/** random: in [0, 1); two servers on one machine must not walk through the ports in step. */
export function makeAddressBook(random: () => number): AddressBook {
  const slots = new Set<number>();
  const ports = new Set<number>();
  return {
    takeSlot: () => {
      for (let slot = 0; slot < MAXIMUM_SLOTS; slot += 1) {
        if (slots.has(slot)) continue;
        slots.add(slot);
        return slot;
      }
      throw new Error(`all ${MAXIMUM_SLOTS} address ranges are in use, stop some training jobs`);
    },
    takePort: async () => {
      for (let attempt = 0; attempt < 1_000; attempt += 1) {
        const port = FIRST_PORT + Math.floor(random() * (LAST_PORT - FIRST_PORT));
        if (ports.has(port) || !(await isFree(port))) continue;
        ports.add(port);
        return port;
      }
      throw new Error(`found no free port between ${FIRST_PORT} and ${LAST_PORT}`);
    },
    release: (slot, port) => {
      if (slot !== undefined) slots.delete(slot);
      if (port !== undefined) ports.delete(port);
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
