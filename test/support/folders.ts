/** Temporary folders that go with the tests. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { beforeAll, onTestFinished } from 'vitest';

const made = (name: string): string => mkdtempSync(path.join(tmpdir(), `tw-${name}-`));
const remove = (folder: string): void => rmSync(folder, { recursive: true, force: true });

/** At the top of a file or suite; removed after all else of it. */
export function folderOfSuite(name: string): string {
  const folder = made(name);
  // Behind every afterAll, and behind what later hooks leave in the same way.
  beforeAll(() => () => remove(folder));
  return folder;
}

/** In a test, or before each; removed after all else of the test. */
export function folderOfTest(name: string): string {
  const folder = made(name);
  onTestFinished(() => remove(folder));
  return folder;
}
