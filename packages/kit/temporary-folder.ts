/** Temporary folders with short paths: a Unix socket's path has 107 characters, and a data loader's worker opens one. */
import { randomBytes } from 'node:crypto';
import { lstat, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';

export interface TemporaryFolder {
  /** Private to this user. */
  readonly path: string;
  /** Removes it with everything below. */
  close(): Promise<void>;
}

/** sun_path has 108 bytes on Linux and 104 elsewhere, with the zero at its end. */
const SOCKET_PATH_BYTES = process.platform === 'linux' ? 107 : 103;
/** Python's multiprocessing appends /pymp-xxxxxxxx/listener-xxxxxxxx. */
const LOADER_BYTES = 32;
/** This module appends /tw-xxxxxxxx, and a server the name of the host: an instance id at most. */
const OWN_BYTES = 32;
const NAME = /^tw-[0-9a-f]{8}$/;
const NOTE = 'temporary-folder';

/** What to do where a data loader's workers cannot open their sockets below the folder; undefined where they can. */
export function socketProblem(folder: string): string | undefined {
  const most = SOCKET_PATH_BYTES - LOADER_BYTES;
  const bytes = Buffer.byteLength(folder);
  if (bytes <= most) return undefined;
  return `data loaders with workers may hang: the path of the temporary folder ${folder} has ${bytes} bytes, and their sockets allow ${most}. Set TMPDIR to a folder with a shorter path and start again`;
}

/**
 * Makes the folder of the server that keeps its state in `stateDirectory`, and removes what an earlier start has left.
 * One server at a time may use that state.
 *
 * @param places where it may lie, best first; one whose path is too long is taken only when no other can be used
 */
export async function openTemporaryFolder(
  stateDirectory: string,
  places: readonly string[] = [tmpdir(), '/tmp'],
): Promise<TemporaryFolder> {
  const note = join(stateDirectory, NOTE);
  await removeTemporaryFolder(stateDirectory);
  const isShort = (place: string): boolean =>
    socketProblem(place.padEnd(place.length + OWN_BYTES)) === undefined;
  for (const place of [...places.filter(isShort), ...places, stateDirectory]) {
    const path = join(place, `tw-${randomBytes(4).toString('hex')}`);
    // Noted first: a start that is killed in between leaves nothing that the next one does not find.
    await writeFile(note, path);
    if (await makePrivate(path)) return { path, close: () => removeTemporaryFolder(stateDirectory) };
  }
  throw new Error(`no temporary folder can be made in ${places.join(' or ')}: make one of them writable`);
}

/** Never one that is there already: in a shared /tmp it may be another user's. */
async function makePrivate(path: string): Promise<boolean> {
  try {
    await mkdir(path, { mode: 0o700 });
    return true;
  } catch {
    return false;
  }
}

/** Removes the folder of a server that has ended, if there is one. */
export async function removeTemporaryFolder(stateDirectory: string): Promise<void> {
  const note = join(stateDirectory, NOTE);
  const path = await readFile(note, 'utf8').catch(() => '');
  if (NAME.test(basename(path)) && (await isOwnFolder(path)))
    await rm(path, { recursive: true, force: true });
  await rm(note, { force: true });
}

async function isOwnFolder(path: string): Promise<boolean> {
  try {
    const found = await lstat(path);
    return found.isDirectory() && found.uid === process.getuid?.();
  } catch {
    return false;
  }
}
