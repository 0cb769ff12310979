/** Which files of the drop folder were taken already, in this start of the program or an earlier one. */

import { createHash } from 'node:crypto';
import { appendFile, mkdir } from 'node:fs/promises';
import path from 'node:path';
import { readIfThere } from '@tidewheel/kit/files.ts';

/** A file as it was when it was looked at; when it changes it is another one. */
interface SeenFile {
  readonly path: string;
  readonly size: number;
  readonly mtimeMs: number;
}

export interface TakenFiles {
  has(file: SeenFile): boolean;
  add(file: SeenFile): Promise<void>;
  /** By one write. */
  addAll(files: readonly SeenFile[]): Promise<void>;
}

const lineOf = ({ path, size, mtimeMs }: SeenFile): string => JSON.stringify([path, size, mtimeMs]);

/** @param record a line for each file: what is written when the process dies is at most a line that matches none */
export async function takenFiles(record: string): Promise<TakenFiles> {
  const text = (await readIfThere(record)) ?? '';
  const lines = new Set(text.split('\n'));
  const addAll = async (files: readonly SeenFile[]): Promise<void> => {
    const added = files.map(lineOf);
    for (const line of added) lines.add(line);
    // Lines of their own even behind one that was cut off.
    await appendFile(record, added.map((line) => `\n${line}`).join(''));
  };
  return {
    has: (file) => lines.has(lineOf(file)),
    add: (file) => addAll([file]),
    addAll,
  };
}

interface JournalPlace {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Of one drop: bucket, pipeline and folder. */
  readonly of: readonly string[];
}

/**
 * The same for the folder of a drop, in the user's state folder
 * (https://specifications.freedesktop.org/basedir-spec/latest), so that the data's own folder stays as it is.
 */
export async function openJournal({ environment, of }: JournalPlace): Promise<TakenFiles> {
  const home = environment['XDG_STATE_HOME'] || path.join(environment['HOME'] ?? '.', '.local', 'state');
  const folder = path.join(home, 'tidewheel', 'drops');
  await mkdir(folder, { recursive: true });
  const name = createHash('sha256').update(JSON.stringify(of)).digest('hex').slice(0, 32);
  return takenFiles(path.join(folder, `${name}.jsonl`));
}
