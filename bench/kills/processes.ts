/** The processes of a region that may be killed, by what they are, from /proc of Linux. */
import { readdir, readFile } from 'node:fs/promises';
import { commandLineOf } from '@tidewheel/emulators/region/port-holders.ts';

export const VICTIMS = [
  'npm start',
  'region',
  'emulator',
  'function',
  'supervisor',
  'agent',
  'script',
] as const;
export type Victim = (typeof VICTIMS)[number];

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

const IS: Readonly<Record<Victim, (one: Process, parent: Process | undefined) => boolean>> = {
  'npm start': ({ command }) => command.includes('bootstrap.mjs start'),
  region: ({ command }) => command.includes('cli/start.ts'),
  emulator: ({ command }) => command.includes('emulator.py'),
  function: (_, parent) => parent?.command.includes('emulator.py') === true,
  supervisor: ({ command }) => command.includes('host-supervisor.py'),
  agent: ({ command }) => command.includes('tidewheel.pyz'),
  script: ({ command }) => /\btrain\.py /.test(command),
};

async function processes(): Promise<readonly Process[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const read = pids.map(async (pid): Promise<Process | undefined> => {
    try {
      const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
      const command = await commandLineOf(Number(pid));
      const [, parent] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      return command === '' ? undefined : { pid: Number(pid), parent: Number(parent), command };
    } catch {
      // It has ended since.
      return undefined;
    }
  });
  return (await Promise.all(read)).filter((one) => one !== undefined);
}

/** The living victims of a kind below a process, which is one of them. */
export async function victimsOf(root: number, victim: Victim): Promise<readonly number[]> {
  const all = await processes();
  const byPid = new Map(all.map((one) => [one.pid, one]));
  const isBelow = (one: Process | undefined): boolean =>
    one !== undefined && (one.pid === root || isBelow(byPid.get(one.parent)));
  return all
    .filter((one) => isBelow(one) && IS[victim](one, byPid.get(one.parent)))
    .map(({ pid }) => pid)
    .sort((a, b) => a - b);
}
