/** The source of a script: the files of its archive or repository, unchanged, with what it reads beside them. */
import { execFile } from 'node:child_process';
import { cp, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { bring } from './bring.ts';
import type { Origin, Release, Script } from './script.ts';

const run = promisify(execFile);
const HERE = import.meta.dirname;

export interface Source {
  /** The script and what lies beside it; nothing changes it. */
  readonly folder: string;
  readonly entry: string;
  /** As the package has it. */
  readonly original: string;
}

/**
 * @param cache keeps the archives
 * @param folder is removed first
 * @param pythonPath has the packages of the script
 * @throws Error when the package index has no such archive, the repository no such commit, or either no such file
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
  if (script.reads !== undefined) {
    const { kind, folder: within } = script.reads;
    await run(pythonPath, [join(HERE, 'observe/input_files.py'), kind, join(folder, within)]);
  }
  if (script.mnist !== undefined) {
    const { folder: within, count } = script.mnist;
    await run(pythonPath, [join(HERE, 'observe/mnist_files.py'), join(folder, within), String(count)]);
  }
  return { folder, entry: join(script.within ?? '', basename(file)), original: file };
}

async function originalFile(origin: Origin, pythonPath: string, cache: string): Promise<string> {
  if ('written' in origin) return join(HERE, 'written', origin.written);
  const unpacked = join(cache, folderOf(origin));
  if (!(await isThere(unpacked)))
    await ('package' in origin ? fetchArchive(origin, pythonPath, unpacked) : fetchCommit(origin, unpacked));
  const [top = ''] = await readdir(unpacked);
  const file = join(unpacked, top, origin.file);
  await readFile(file);
  return file;
}

type Published = Exclude<Origin, { readonly written: string }>;

const folderOf = (origin: Published): string =>
  'package' in origin
    ? `${origin.package}-${origin.version}`
    : [basename(origin.repository), origin.commit.slice(0, 12), ...dirname(origin.file).split('/')]
        .filter((part) => part !== '.')
        .join('-');

/** Only the script's folder. The commit's hash is that of its files; a folder that is there is whole. */
async function fetchCommit(
  { repository, commit, file }: Exclude<Published, Release>,
  unpacked: string,
): Promise<void> {
  const work = `${unpacked}.part`;
  await rm(work, { recursive: true, force: true });
  const files = join(work, 'files');
  await mkdir(files, { recursive: true });
  const git = (...words: readonly string[]) =>
    bring(`${repository} at ${commit}`, 'git', ['-C', files, ...words]);
  await git('init', '--quiet');
  await git('remote', 'add', 'origin', repository);
  await git('fetch', '--quiet', '--depth=1', '--filter=blob:none', 'origin', commit);
  await git('checkout', '--quiet', 'FETCH_HEAD', '--', dirname(file));
  await rm(join(files, '.git'), { recursive: true });
  await rename(work, unpacked);
}

/** pip compares the hash; a folder that is there is whole. */
async function fetchArchive(
  { package: name, version, sha256 }: Release,
  pythonPath: string,
  unpacked: string,
): Promise<void> {
  const work = `${unpacked}.part`;
  await rm(work, { recursive: true, force: true });
  await mkdir(join(work, 'unpacked'), { recursive: true });
  const wanted = join(work, 'wanted.txt');
  await writeFile(wanted, `${name}==${version} --hash=sha256:${sha256}\n`);
  // Its scripts are read, not installed.
  const flags = ['--no-deps', '--no-binary', ':all:', '--ignore-requires-python', '--require-hashes'];
  const words = ['download', '--no-input', '--quiet', ...flags, '-r', wanted, '-d', join(work, 'archives')];
  await bring(`the source of ${name} ${version}`, pythonPath, ['-m', 'pip', ...words]);
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

/** Lines of the script that ran which the package's file does not have in the same place, or the other way round. */
export async function changedLines(source: Source): Promise<number> {
  const texts = [source.original, join(source.folder, source.entry)].map((path) => readFile(path, 'utf8'));
  const [before = [], after = []] = (await Promise.all(texts)).map((text) => text.split('\n'));
  const longer = before.length > after.length ? before : after;
  return longer.filter((_, index) => before[index] !== after[index]).length;
}
