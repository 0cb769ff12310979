/** The files of a person's folder, as they become keys: with slashes, in a fixed order, and what cannot be one by its reason. */
import type { Dirent } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import path from 'node:path';

export interface LocalFile {
  /** Absolute. */
  readonly path: string;
  /** Relative to the folder, with slashes. */
  readonly name: string;
  readonly size: number;
  readonly mtimeMs: number;
}

interface SkippedFile {
  readonly name: string;
  readonly why: string;
}

export interface FilesBelow {
  readonly files: readonly LocalFile[];
  readonly skipped: readonly SkippedFile[];
}

/** Systems and tools put these beside a person's files. */
const NEVER = ['.git', '.tidewheel', '.venv', 'venv', '__pycache__', 'node_modules', '.ipynb_checkpoints'];
const isHidden = (name: string): boolean => name.startsWith('.');

/** Version control, editors and other tools write these. No script reads them. */
const OF_TOOLS = /^\.(git.*|DS_Store|idea|vscode|pre-commit-config\.yaml|coverage|tidewheel|venv|.*_cache)$/;
/** The code is kept in the bucket with every run. */
const SECRET =
  /^\.(env(\..*)?|envrc|netrc|npmrc|pypirc|pgpass|aws|ssh|kube|.*(credential|secret|token|passw|history).*|.*\.(key|pem))$/i;
const EXAMPLE = /\.(example|sample|template|dist)$/i;

/**
 * Includes hidden files (`.project-root`, `.env.example`). `skipped` names secrets, hidden folders and what cannot be read.
 * Files of tools are left out without a word.
 */
export async function sourceFilesBelow(folder: string, omit: readonly string[] = []): Promise<FilesBelow> {
  const left: SkippedFile[] = [];
  const { files, skipped } = await filesBelow(folder, (entry, name) => {
    const why = whyNoCode(entry);
    if (why !== undefined && why !== '') left.push({ name, why });
    return why !== undefined || omit.includes(name);
  });
  return { files, skipped: [...left, ...skipped] };
}

/** Empty where a tool put it there; undefined for code. */
function whyNoCode(entry: Dirent): string | undefined {
  const { name } = entry;
  if (NEVER.includes(name) || OF_TOOLS.test(name)) return '';
  if (!isHidden(name)) return undefined;
  if (SECRET.test(name) && !EXAMPLE.test(name)) return 'it may hold secrets';
  return entry.isDirectory() ? 'it is a hidden folder' : undefined;
}

/**
 * Hidden files and folders of tools are left out without a word.
 * @param omit relative names, with slashes, of files and folders that are left out
 * @throws Error where the folder cannot be read
 */
export const dataFilesBelow = (folder: string, omit: readonly string[] = []): Promise<FilesBelow> =>
  filesBelow(folder, ({ name }, whole) => isHidden(name) || NEVER.includes(name) || omit.includes(whole));

/** @param only files and folders that alone are taken. @throws Error where the folder, or one of them, cannot be read */
export async function dataFilesOf(folder: string, only: readonly string[] | undefined): Promise<FilesBelow> {
  if (only === undefined) return dataFilesBelow(folder);
  for (const each of only) await stat(path.join(folder, each));
  const isOf = ({ name }: { readonly name: string }): boolean =>
    only.some((each) => name === each || name.startsWith(`${each}/`));
  const { files, skipped } = await dataFilesBelow(folder);
  return { files: files.filter(isOf), skipped: skipped.filter(isOf) };
}

async function filesBelow(
  folder: string,
  isLeft: (entry: Dirent, name: string) => boolean,
): Promise<FilesBelow> {
  const files: LocalFile[] = [];
  const skipped: SkippedFile[] = [];
  const within = path.join(await realpath(folder), path.sep);
  const leadsOut = async (entry: Dirent, file: string): Promise<boolean> =>
    entry.isSymbolicLink() && !(await realpath(file)).startsWith(within);
  const visit = async (relative: string): Promise<void> => {
    const entries = await readdir(path.join(folder, relative), { withFileTypes: true });
    for (const entry of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = relative === '' ? entry.name : `${relative}/${entry.name}`;
      if (isLeft(entry, name)) continue;
      if (entry.isDirectory()) await visit(name);
      else await take(entry, name);
    }
  };
  const take = async (entry: Dirent, name: string): Promise<void> => {
    const file = path.join(folder, name);
    if (name.includes('\uFFFD')) return void skipped.push({ name, why: 'its name is not UTF-8' });
    // A link to a file is that file; one to a folder could lead anywhere, also here.
    const found = await stat(file).catch(() => undefined);
    if (found === undefined) skipped.push({ name, why: 'it is a link to nothing, or may not be read' });
    // The folder may come from another person, who knows the names of this one's files.
    else if (found.isFile() && (await leadsOut(entry, file)))
      skipped.push({ name, why: 'it is a link that leads out of the folder: put a copy in its place' });
    else if (found.isFile()) files.push({ path: file, name, size: found.size, mtimeMs: found.mtimeMs });
    else skipped.push({ name, why: entry.isSymbolicLink() ? 'it is a link to a folder' : 'it is no file' });
  };
  await visit('');
  return { files, skipped };
}
