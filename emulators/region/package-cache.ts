/** Packages of the service, each under the digest of its content: packaged once, deployed into every region of this clone. */
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';

/** About 40 MB each. */
const KEPT = 3;

const cacheIn = (projectFolder: string): string => join(projectFolder, '.tidewheel', 'packages');

/** Folder of the package, or undefined when it has to be made. */
export async function cachedPackage(projectFolder: string, digest: string): Promise<string | undefined> {
  const folder = join(cacheIn(projectFolder), digest);
  try {
    const now = new Date();
    // The time of its last use decides which packages are kept.
    await utimes(folder, now, now);
    return folder;
  } catch (error: unknown) {
    if (isCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/**
 * Moves a complete package into the cache, and removes the packages that were used least recently.
 * @returns its folder there
 */
export async function keepPackage(projectFolder: string, digest: string, made: string): Promise<string> {
  const cache = cacheIn(projectFolder);
  const folder = join(cache, digest);
  await mkdir(cache, { recursive: true });
  try {
    // A rename appears whole or not at all: of two starts at once, both deploy the first one's package.
    await rename(made, folder);
  } catch (error: unknown) {
    if (!isCode(error, 'ENOTEMPTY') && !isCode(error, 'EEXIST')) throw error;
  }
  await removeOld(cache);
  return folder;
}

async function removeOld(cache: string): Promise<void> {
  const found = await Promise.all(
    (await readdir(cache)).map(async (name) => {
      const path = join(cache, name);
      const entry = await stat(path).catch(() => undefined);
      return { path, usedAt: entry?.mtimeMs ?? 0 };
    }),
  );
  const old = found.sort((a, b) => b.usedAt - a.usedAt).slice(KEPT);
  await Promise.all(old.map(({ path }) => rm(path, { recursive: true, force: true })));
}

const isCode = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;
