/** One process for a folder: a second one would take the first one's work for abandoned. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { realpath, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

/**
 * @param user what the folder is locked for, in words; locks for different users do not meet
 * @returns gives the folder free; so does the end of the process, even by kill -9
 * @throws Error that names the process that has it
 */
export async function lockFolder(directory: string, user: string): Promise<() => void> {
  const name = createHash('sha256')
    .update(`${user} ${await realpath(directory)}`)
    .digest('hex')
    .slice(0, 24);
  // Linux: a name without a file, which the kernel forgets with its owner. Elsewhere a socket file, which may be stale.
  const path =
    process.platform === 'linux' ? `\0tidewheel-${name}` : join(tmpdir(), `tidewheel-${name}.sock`);
  if (process.platform !== 'linux' && (await holderAt(path)) === undefined) await rm(path, { force: true });
  const server = createServer((socket) => socket.end(String(process.pid)));
  server.listen(path);
  try {
    await once(server, 'listening');
  } catch (error) {
    const pid = await holderAt(path);
    const holder = pid === undefined ? '' : ` (process ${pid})`;
    throw new Error(
      `${directory} is in use by another ${user}${holder}: stop that one, or name another folder`,
      { cause: error },
    );
  }
  server.unref();
  return () => server.close();
}

/** The process that answers at the socket. */
async function holderAt(path: string): Promise<number | undefined> {
  const socket = connect(path);
  try {
    return Number(await text(socket)) || undefined;
  } catch {
    return undefined;
  } finally {
    socket.destroy();
  }
}
