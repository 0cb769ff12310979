/** The process that listens on a port of this machine, from /proc of Linux. undefined elsewhere, and for processes of other users. */
import { readdir, readFile, readlink } from 'node:fs/promises';

interface PortHolder {
  readonly pid: number;
  /** With its arguments, on one line. */
  readonly command: string;
}

const LISTENING = '0A';

/** https://man7.org/linux/man-pages/man5/proc_pid_net.5.html */
export async function holderOf(port: number): Promise<PortHolder | undefined> {
  const sockets = await listeningSockets(port);
  if (sockets.size === 0) return undefined;
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  for (const pid of pids) {
    if (!(await holdsAny(pid, sockets))) continue;
    return { pid: Number(pid), command: await commandLineOf(Number(pid)) };
  }
  return undefined;
}

/** With its arguments, on one line; empty where it cannot be read. */
export async function commandLineOf(pid: number): Promise<string> {
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
  return command.replaceAll(/[\0\s]+/g, ' ').trim();
}

/** `socket:[inode]` of all that listen there. */
async function listeningSockets(port: number): Promise<ReadonlySet<string>> {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const found = new Set<string>();
  for (const table of ['/proc/net/tcp', '/proc/net/tcp6']) {
    const lines = (await readFile(table, 'utf8').catch(() => '')).split('\n').slice(1);
    for (const line of lines) {
      const [, address = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
      if (address.endsWith(suffix) && state === LISTENING) found.add(`socket:[${inode}]`);
    }
  }
  return found;
}

async function holdsAny(pid: string, sockets: ReadonlySet<string>): Promise<boolean> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
  for (const descriptor of descriptors) {
    const target = await readlink(`/proc/${pid}/fd/${descriptor}`).catch(() => '');
    if (sockets.has(target)) return true;
  }
  return false;
}
