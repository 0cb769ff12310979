/** One server for a state folder: a second one would take the first one's running jobs for dead. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { realpath, rm } from 'node:fs/promises';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** The returned function gives the folder free; so does the end of the process, even by kill -9. */
export async function lockState(directory: string): Promise<() => void> {
  const name = createHash('sha256')
    .update(await realpath(directory))
    .digest('hex')
    .slice(0, 24);
  // Linux: a name without a file, which the kernel forgets with its owner. Elsewhere a socket file, which may be stale.
  const path =
    process.platform === 'linux' ? `\0tidewheel-sagemaker-${name}` : join(tmpdir(), `tidewheel-${name}.sock`);
  if (process.platform !== 'linux' && !(await isAnswered(path))) await rm(path, { force: true });
  const server = createServer((socket) => socket.end());
  server.listen(path);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new Error(
      `${directory} is in use by another local SageMaker: stop that one, or name another folder`,
      {
        cause: error,
      },
    );
  }
  server.unref();
  return () => server.close();
}

async function isAnswered(path: string): Promise<boolean> {
  const socket = connect(path);
  try {
    await once(socket, 'connect');
    return true;
  } catch {
    return false;
  } finally {
    socket.destroy();
  }
}
