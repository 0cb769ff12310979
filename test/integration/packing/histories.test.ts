/** The first seeds of `npm run test:histories`, which plays thousands. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from 'vitest';

const FILE = path.join(import.meta.dirname, '../../histories/main.ts');

it('holds what an independent model says', async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [FILE, '--seeds', '1-50']);
  expect(stdout).toMatch(/^50 histories, \d{3} versions, 0 differ\n$/);
}, 300_000);
