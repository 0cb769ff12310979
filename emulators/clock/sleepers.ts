/** Lets programs in other processes sleep on a virtual clock: a line `UNIX_MILLISECONDS` asks, a line of the time wakes. */
import { once } from 'node:events';
import { createServer, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { LocalClock } from './clock.ts';

interface Sleeper {
  /** What its process needs in its environment to find us. */
  readonly environment: Readonly<Record<string, string>>;
  leave(): void;
}

export interface Sleepers {
  /** @param onChange called whenever the member falls asleep (true) or is awake again (false) */
  join(onChange: (isAsleep: boolean) => void): Sleeper;
  close(): Promise<void>;
}

export interface SleepersOptions {
  readonly clock: LocalClock;
  /** The file in which the virtual clock keeps its time. */
  readonly file: string;
}

/** Listens on 127.0.0.1 only. A member names itself in its first line, by a word that only members know. */
export async function startSleepers({ clock, file }: SleepersOptions): Promise<Sleepers> {
  const members = new Map<string, (isAsleep: boolean) => void>();
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined);
    serve(socket, clock, members);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return {
    join: (onChange) => {
      const name = crypto.randomUUID();
      members.set(name, onChange);
      const environment = {
        TIDEWHEEL_CLOCK_FILE: file,
        TIDEWHEEL_CLOCK_PORT: String(port),
        TIDEWHEEL_CLOCK_MEMBER: name,
      };
      return { environment, leave: () => void members.delete(name) };
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}

function serve(
  socket: Socket,
  clock: LocalClock,
  members: ReadonlyMap<string, (isAsleep: boolean) => void>,
): void {
  let name: string | undefined;
  let callOff: (() => void) | undefined;
  const wake = (): void => {
    if (callOff === undefined) return;
    callOff();
    callOff = undefined;
    members.get(name ?? '')?.(false);
  };
  createInterface({ input: socket })
    .on('line', (line) => {
      if (name === undefined) {
        name = line;
        if (!members.has(name)) socket.destroy();
        return;
      }
      const momentMs = Number(line);
      if (!Number.isFinite(momentMs)) {
        socket.destroy();
        return;
      }
      wake();
      callOff = clock.at(momentMs, () => {
        wake();
        socket.write(`${clock.now()}\n`);
      });
      members.get(name)?.(true);
    })
    .on('error', () => undefined);
  // A program that is killed in its sleep no longer sleeps.
  socket.on('close', wake);
}
