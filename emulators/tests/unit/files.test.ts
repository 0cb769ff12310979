/** A folder that a person names is made with those above it, or refused; either ends. */
import { chmod, mkdir, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { makeWritable } from '@tidewheel/kit/files.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { folderOfTest } from '../../../test/support/folders.ts';

let folder: string;

beforeEach(() => {
  folder = folderOfTest('files');
});

describe('a writable folder', () => {
  it('is made with those above it, once', async () => {
    const deep = join(folder, 'a/b/c');
    await Promise.all([makeWritable(deep), makeWritable(deep), makeWritable(join(folder, 'a/d'))]);
    await makeWritable(deep);
    expect((await stat(deep)).isDirectory()).toBe(true);
  });

  it('may be a link to one', async () => {
    await mkdir(join(folder, 'there'));
    await symlink(join(folder, 'there'), join(folder, 'link'));
    await makeWritable(join(folder, 'link/new'));
    expect((await stat(join(folder, 'there/new'))).isDirectory()).toBe(true);
  });

  it('is refused where a file or broken link stands', async () => {
    await writeFile(join(folder, 'file'), '');
    await symlink(join(folder, 'nothing'), join(folder, 'broken'));
    await expect(makeWritable(join(folder, 'file'))).rejects.toThrow('EEXIST');
    await expect(makeWritable(join(folder, 'file/x/y'))).rejects.toThrow('ENOTDIR');
    await expect(makeWritable(join(folder, 'broken'))).rejects.toThrow('EEXIST');
    await expect(makeWritable(join(folder, 'broken/x'))).rejects.toThrow('EEXIST');
  });

  // Where Node's recursive mkdir never ends.
  it.runIf(process.platform === 'linux')('is refused where no folder can be made', async () => {
    await expect(makeWritable('/proc/tidewheel/state')).rejects.toThrow("mkdir '/proc/tidewheel'");
  });

  it.skipIf(process.getuid?.() === 0)('is refused where nothing can be written', async () => {
    await chmod(folder, 0o500);
    await expect(makeWritable(folder)).rejects.toThrow('EACCES');
    await chmod(folder, 0o700);
  });
});
