/** Packages of the service, each under the digest of its content: packaged once, deployed into every region of this clone. */

import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, realpath, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '@tidewheel/kit/errors.ts';
import { filesBelow } from '@tidewheel/kit/files.ts';
import { waitForName } from '../shared/folder-lock.ts';

/** What the template and the bundles are made of. */
const INGREDIENTS = [
  'serverless.yml',
  'serverless',
  'statemachines',
  'functions',
  'packages',
  'training/agent',
  'training/automatic',
  'training/instrument',
  'docs/openapi.json',
  'package-lock.json',
];

/** About 40 MB each. */
const KEPT = 3;

const cacheIn = (projectFolder: string): string => join(projectFolder, '.tidewheel', 'packages');

interface Packaging {
  readonly projectFolder: string;
  readonly digest: string;
  /** @returns the folder of the complete package */
  readonly make: () => Promise<string>;
  /** Called when another process of this clone packages already. */
  readonly onWait: (pid: number | undefined) => void;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The kept package, or a new one. One process of a clone packages at a time: osls zips all packages in one folder, and
 * the second of two starts needs only what the first one makes.
 */
export async function packageOnce({
  projectFolder,
  digest,
  make,
  onWait,
  signal,
}: Packaging): Promise<string> {
  const cached = await cachedPackage(projectFolder, digest);
  if (cached !== undefined) return cached;
  await mkdir(cacheIn(projectFolder), { recursive: true });
  const unlock = await waitForName(`packages ${await realpath(cacheIn(projectFolder))}`, { onWait, signal });
  try {
    const made = await cachedPackage(projectFolder, digest);
    return made ?? (await keepPackage(projectFolder, digest, await make()));
  } finally {
    unlock();
  }
}

/** Folder of the package, or undefined when it has to be made. */
async function cachedPackage(projectFolder: string, digest: string): Promise<string | undefined> {
  const folder = join(cacheIn(projectFolder), digest);
  try {
    const now = new Date();
    // The time of its last use decides which packages are kept.
    await utimes(folder, now, now);
    return folder;
  } catch (error: unknown) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw error;
  }
}

/**
 * Moves a complete package into the cache, and removes the packages that were used least recently.
 * @returns its folder there
 */
async function keepPackage(projectFolder: string, digest: string, made: string): Promise<string> {
  const cache = cacheIn(projectFolder);
  const folder = join(cache, digest);
  await mkdir(cache, { recursive: true });
  try {
    // A rename appears whole or not at all.
    await rename(made, folder);
  } catch (error: unknown) {
    if (!hasCode(error, 'ENOTEMPTY') && !hasCode(error, 'EEXIST')) throw error;
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

/** Content of every file that a deployment depends on. */
export async function packageDigest(projectFolder: string): Promise<string> {
  const hash = createHash('sha256');
  for (const ingredient of INGREDIENTS) {
    for (const path of await filesOf(join(projectFolder, ingredient))) {
      hash.update(path.slice(projectFolder.length)).update(await readFile(path));
    }
  }
  return hash.digest('hex');
}

async function filesOf(path: string): Promise<string[]> {
  try {
    // What Python has compiled follows from its sources.
    const names = (await filesBelow(path)).filter((name) => !name.endsWith('.pyc'));
    return names.map((name) => join(path, name));
  } catch (error: unknown) {
    if (hasCode(error, 'ENOTDIR')) return [path];
    throw error;
  }
}
