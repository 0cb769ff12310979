/** Folders: made with those above them, closed to other users, and their files as an upload sees them. */

import { execFile } from 'node:child_process';
import { access, chmod, constants, mkdir, readdir, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { hasCode } from './errors.ts';

/**
 * Makes it with those above it, unless it is there.
 *
 * Node 24's recursive mkdir never ends where a folder that is there answers ENOENT, as Linux's /proc does.
 * @throws Error of the file system if it is no folder, or one in which nothing can be written
 */
export async function makeWritable(folder: string): Promise<void> {
  await makeFolder(folder);
  await access(folder, constants.W_OK);
}

const OTHERS = 0o077;

/**
 * Makes a folder that only its owner may enter. What lies in it keeps its rights: a person may name any folder.
 * @throws Error where the folder is another user's
 */
export async function makePrivate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
}

/**
 * The same, and its files are closed to others, too. For a folder that holds nothing but what this project wrote.
 * @throws Error of chmod, where the folder is another user's
 */
export async function makeAllPrivate(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (((await stat(folder)).mode & OTHERS) === 0) return;
  await promisify(execFile)('chmod', ['-R', 'go-rwx', await realpath(folder)]);
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await makeUnlessThere(folder);
  } catch (error: unknown) {
    const above = dirname(folder);
    if (!hasCode(error, 'ENOENT') || above === folder) throw error;
    await makeFolder(above);
    await makeUnlessThere(folder);
  }
}

async function makeUnlessThere(folder: string): Promise<void> {
  try {
    await mkdir(folder);
  } catch (error: unknown) {
    if (!hasCode(error, 'EEXIST') || !(await isFolder(folder))) throw error;
  }
}

/** @returns undefined where no such file is */
export async function readIfThere(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8');
  } catch (error: unknown) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

const isFolder = (path: string): Promise<boolean> =>
  stat(path).then(
    (found) => found.isDirectory(),
    () => false,
  );

/**
 * Paths of all files below a folder, relative to it, in order. Links are followed, as `aws s3 cp` does: the recipes
 * link to what they share. What Python leaves behind is left out.
 */
export async function filesBelow(folder: string): Promise<string[]> {
  const found: string[] = [];
  for (const name of (await readdir(folder)).sort()) {
    const path = join(folder, name);
    if ((await stat(path)).isDirectory()) {
      if (name !== '__pycache__') found.push(...(await filesBelow(path)).map((file) => join(name, file)));
    } else found.push(name);
  }
  return found;
}
