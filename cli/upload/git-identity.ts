/** The commit that a folder of code is at, as git says. */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import path from 'node:path';
import { promisify } from 'node:util';
import { type GitIdentity, gitIdentitySchema } from '@tidewheel/declaration/script.ts';

const LIMIT = { timeout: 10_000, maxBuffer: 64 * 1024 * 1024 };
/** Reads take no lock, and start no program that the folder's own configuration names. */
const HARMLESS = ['--no-optional-locks', '-c', 'core.fsmonitor=false'];

interface Folder {
  readonly folder: string;
  /** Names of its files that are sent, relative to it, with slashes. */
  readonly sent: readonly string[];
  /** Likewise, what is no code. */
  readonly omit: readonly string[];
}

/** @returns undefined without git, a repository or a commit */
export async function gitIdentityOf({ folder, sent, omit }: Folder): Promise<GitIdentity | undefined> {
  const git = async (...words: string[]): Promise<string> =>
    (await promisify(execFile)('git', [...HARMLESS, '-C', folder, ...words], LIMIT)).stdout;
  try {
    const [commit, branch, tracked, changed] = await Promise.all([
      git('rev-parse', '--verify', 'HEAD'),
      git('branch', '--show-current'),
      git('ls-files', '-z'),
      // Without external programs that may stand in for the comparison.
      git('diff', '--no-ext-diff', '--no-textconv', '--relative', '--name-only', '-z', 'HEAD', '--'),
    ]);
    const known = new Set(tracked.split('\0'));
    const others = changed.split('\0').filter((name) => name !== '');
    const isGone = (name: string): boolean =>
      !omit.some((one) => name === one || name.startsWith(`${one}/`)) && !existsSync(path.join(folder, name));
    const isDirty = sent.some((name) => !known.has(name) || others.includes(name)) || others.some(isGone);
    return gitIdentitySchema.parse({
      commit: commit.trim(),
      ...(branch.trim() !== '' && { branch: branch.trim() }),
      isDirty,
    });
  } catch {
    return undefined;
  }
}
