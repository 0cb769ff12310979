/** Which files of the drop folder were taken already, in this start of the program or an earlier one. */
import { appendFile, readFile } from 'node:fs/promises';

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
  const text = await readFile(record, 'utf8').catch((error: unknown) => {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  });
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
