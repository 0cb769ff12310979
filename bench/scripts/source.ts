/** The source of a script: the files of its archive, unchanged, with what it reads beside them. */
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { pip } from './environment.ts';
import { type Origin, releaseName, type Script } from './own-script.ts';

const run = promisify(execFile);
const HERE = import.meta.dirname;

export interface Source {
  /** The script and what lies beside it; nothing changes it. */
  readonly folder: string;
  readonly entry: string;
}

/**
 * @param cache keeps the archives
 * @param folder is removed first
 * @param pythonPath has the packages of the script
 * @throws Error when the package index has no such archive, or the archive no such file
 */
export async function layOutSource(
  script: Script,
  pythonPath: string,
  cache: string,
  folder: string,
): Promise<Source> {
  const file = await originalFile(script.origin, pythonPath, cache);
  await rm(folder, { recursive: true, force: true });
  const place = join(folder, script.within ?? '');
  await mkdir(place, { recursive: true });
  if ('written' in script.origin) await cp(file, join(place, basename(file)));
  else await cp(dirname(file), place, { recursive: true });
  if (script.mnist !== undefined) {
    const { folder: within, count } = script.mnist;
    await run(pythonPath, [join(HERE, 'observe/mnist_files.py'), join(folder, within), String(count)]);
  }
  return { folder, entry: join(script.within ?? '', basename(file)) };
}

async function originalFile(origin: Origin, pythonPath: string, cache: string): Promise<string> {
  if ('written' in origin) return join(HERE, 'written', origin.written);
  const unpacked = join(cache, releaseName(origin.release).replace('==', '-'));
  if (!(await isThere(unpacked))) await fetchArchive(origin.release, pythonPath, unpacked);
  const [top = ''] = await readdir(unpacked);
  const file = join(unpacked, top, origin.file);
  await readFile(file);
  return file;
}

/** pip compares the hash; a folder that is there is whole. */
async function fetchArchive(release: string, pythonPath: string, unpacked: string): Promise<void> {
  const work = `${unpacked}.part`;
  await rm(work, { recursive: true, force: true });
  await mkdir(join(work, 'unpacked'), { recursive: true });
  const wanted = join(work, 'wanted.txt');
  await writeFile(wanted, `${release}\n`);
  // Its scripts are read, not installed.
  const flags = ['--no-deps', '--no-binary', ':all:', '--ignore-requires-python', '--require-hashes'];
  const words = ['download', '--quiet', ...flags, '-r', wanted, '-d', join(work, 'archives')];
  await pip(`the source of ${releaseName(release)}`, pythonPath, words);
  const [archive = ''] = await readdir(join(work, 'archives'));
  await run('tar', ['-xf', join(work, 'archives', archive), '-C', join(work, 'unpacked')]);
  await rename(join(work, 'unpacked'), unpacked);
  await rm(work, { recursive: true });
}

const isThere = (path: string): Promise<boolean> =>
  readdir(path).then(
    () => true,
    () => false,
  );
