/** Where processes of this machine listen, from /proc of Linux. */
import { readdir, readFile, readlink } from 'node:fs/promises';

const LISTENING = '0A';
/** 127.0.0.0/8 as /proc/net/tcp writes it: little-endian, so the first byte stands last. */
const LOOPBACK = /^[0-9A-F]{6}7F:/;

interface Listener {
  readonly pid: number;
  /** The kernel's hexadecimal. */
  readonly address: string;
  readonly isLoopback: boolean;
}

/** The sockets on which the processes listen. */
export async function listenersOf(pids: readonly number[]): Promise<readonly Listener[]> {
  const owners = new Map<string, number>();
  for (const pid of pids) for (const socket of await socketsOf(pid)) owners.set(socket, pid);
  const found: Listener[] = [];
  for (const table of ['tcp', 'tcp6']) {
    const lines = (await readFile(`/proc/net/${table}`, 'utf8')).trim().split('\n').slice(1);
    for (const line of lines) {
      const [, address = '', , state, , , , , , inode = ''] = line.trim().split(/\s+/);
      const pid = owners.get(`socket:[${inode}]`);
      if (state === LISTENING && pid !== undefined)
        found.push({ pid, address, isLoopback: table === 'tcp' && LOOPBACK.test(address) });
    }
  }
  return found;
}

async function socketsOf(pid: number): Promise<readonly string[]> {
  const descriptors = await readdir(`/proc/${pid}/fd`).catch(() => []);
  return Promise.all(descriptors.map((name) => readlink(`/proc/${pid}/fd/${name}`).catch(() => '')));
}

/** A process and all that descend from it. */
export async function treeOf(root: number): Promise<readonly number[]> {
  const children = new Map<number, number[]>();
  for (const pid of (await readdir('/proc')).filter((name) => /^\d+$/.test(name))) {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
    const parent = Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
    children.set(parent, [...(children.get(parent) ?? []), Number(pid)]);
  }
  const tree = [root];
  for (const pid of tree) tree.push(...(children.get(pid) ?? []));
  return tree;
}
