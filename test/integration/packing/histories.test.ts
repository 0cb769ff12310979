/** The first seeds of `npm run test:histories`, which plays thousands. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const FILE = path.join(import.meta.dirname, '../../histories/main.ts');

const played = async (seeds: string): Promise<string> => {
  const { stdout } = await promisify(execFile)(process.execPath, [FILE, '--seeds', seeds]);
  return stdout;
};

it('holds what an independent model says', async () => {
  expect(await played('1-50')).toMatch(/^50 histories, \d{3} versions, 0 differ\n$/);
}, 300_000);

// The first input of a compaction has no shards, so that its columns are unknown.
it('joins rows after a generation without shards', async () => {
  expect(await played('500594-500594')).toMatch(/^1 histories, \d+ versions, 0 differ\n$/);
}, 60_000);
