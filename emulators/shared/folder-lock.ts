/** One process for a folder, or for whatever else has a name on this machine: a second one would take the first one's work for abandoned. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { realpath, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';

/** Another process has what was to be locked. */
export class LockedError extends Error {
  override readonly name = 'LockedError';

  /** undefined: it has ended since. */
  readonly pid: number | undefined;
  /** It is about to give it free, and says so. */
  readonly isEnding: boolean;

  constructor({ pid, isEnding }: Holder, cause: unknown) {
    super(pid === undefined ? 'another process has it' : `process ${pid} has it`, { cause });
    this.pid = pid;
    this.isEnding = isEnding;
  }
}

interface Holder {
  readonly pid: number | undefined;
  readonly isEnding: boolean;
}

interface LockOptions {
  /** Whether this process is about to give it free: others, who ask, may then wait. */
  readonly isEnding?: (() => boolean) | undefined;
}

/**
 * @param user what the folder is locked for, in words; locks for different users do not meet
 * @returns gives the folder free; so does the end of the process, even by kill -9
 * @throws Error that names the process that has it; its cause is a LockedError
 */
export async function lockFolder(
  directory: string,
  user: string,
  options: LockOptions = {},
): Promise<() => void> {
  const name = `${user} ${await realpath(directory)}`;
  try {
    return await lockName(name, options);
  } catch (error: unknown) {
    if (!(error instanceof LockedError)) throw error;
    const holder = error.pid === undefined ? '' : ` (process ${error.pid})`;
    throw new Error(
      `${directory} is in use by another ${user}${holder}: stop that one, or name another folder`,
      { cause: error },
    );
  }
}

/**
 * @param name of anything that one process of this machine may have at a time
 * @returns gives it free; so does the end of the process, even by kill -9
 * @throws LockedError when a process has it, this one included
 */
export async function lockName(
  name: string,
  { isEnding = () => false }: LockOptions = {},
): Promise<() => void> {
  const digest = createHash('sha256').update(name).digest('hex').slice(0, 24);
  // Linux: a name without a file, which the kernel forgets with its owner. Elsewhere a socket file, which may be stale.
  const path =
    process.platform === 'linux' ? `\0tidewheel-${digest}` : join(tmpdir(), `tidewheel-${digest}.sock`);
  if (process.platform !== 'linux' && (await holderAt(path)).pid === undefined)
    await rm(path, { force: true });
  // Any user of the machine may ask, and be gone before the answer, or stay: this process ends without waiting for them.
  const server = createServer((socket) =>
    socket
      .on('error', () => undefined)
      .end(isEnding() ? `${process.pid} ${ENDING}` : String(process.pid), () => socket.destroy()),
  );
  server.listen(path);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new LockedError(await holderAt(path), error);
  }
  server.unref();
  return () => server.close();
}

const ENDING = 'is ending';
const LOOK_MILLISECONDS = 300;
const ANSWER_MILLISECONDS = 5_000;

/**
 * As lockName, but waits while another process has it.
 * @param onWait called once, with that process
 */
export async function waitForName(
  name: string,
  {
    onWait,
    signal,
  }: { readonly onWait: (pid: number | undefined) => void; readonly signal?: AbortSignal | undefined },
): Promise<() => void> {
  for (let looks = 0; ; looks += 1) {
    try {
      return await lockName(name);
    } catch (error: unknown) {
      if (!(error instanceof LockedError)) throw error;
      if (looks === 0) onWait(error.pid);
      await sleep(LOOK_MILLISECONDS, undefined, signal && { signal });
    }
  }
}

/** The process that answers at the socket. */
async function holderAt(path: string): Promise<Holder> {
  const socket = connect(path);
  // The process that has the name may say nothing.
  socket.setTimeout(ANSWER_MILLISECONDS, () => socket.destroy());
  try {
    const [pid = '', ...rest] = (await text(socket)).split(' ');
    return { pid: Number(pid) || undefined, isEnding: rest.join(' ') === ENDING };
  } catch {
    return { pid: undefined, isEnding: false };
  } finally {
    socket.destroy();
  }
}
