/** What of the drop folder is taken again by the next start, and what is not. */
import { appendFile, readFile, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from 'vitest';
import { takenFiles } from '../../../cli/serve/taken-files.ts';
import { folderOfTest } from '../../support/folders.ts';

let folder: string;
let record: string;
beforeEach(() => {
  folder = folderOfTest('taken');
  record = join(folder, 'dropped.jsonl');
});

const FILE = { path: '/drop/digits/7/a "b"\n.png', size: 3, mtimeMs: 1.5 };

describe('a file of the drop folder', () => {
  it('is taken once, over many starts', async () => {
    const first = await takenFiles(record);
    expect(first.has(FILE)).toBe(false);
    await first.add(FILE);
    expect(first.has(FILE)).toBe(true);
    expect((await takenFiles(record)).has(FILE)).toBe(true);
  });

  it('is another once size or time changed', async () => {
    await (await takenFiles(record)).add(FILE);
    const next = await takenFiles(record);
    expect(next.has({ ...FILE, size: 4 })).toBe(false);
    expect(next.has({ ...FILE, mtimeMs: 2 })).toBe(false);
  });

  it('is taken again after a kill mid-write', async () => {
    await (await takenFiles(record)).add(FILE);
    await truncate(record, (await readFile(record)).length - 4);
    const next = await takenFiles(record);
    expect(next.has(FILE)).toBe(false);
    await next.add(FILE);
    expect((await takenFiles(record)).has(FILE)).toBe(true);
  });

  it('cannot be hidden by an unreadable record', async () => {
    await appendFile(record, 'not json\n[]\n');
    expect((await takenFiles(record)).has(FILE)).toBe(false);
    await expect(takenFiles(folder)).rejects.toThrow('EISDIR');
  });
});
