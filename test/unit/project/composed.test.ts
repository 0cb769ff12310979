/** What `npm run compose` writes is checked in, so that everybody reads and reviews what is deployed. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { composed } from '../../../cli/compose.ts';

const ROOT = path.join(import.meta.dirname, '../../..');

it.each(Object.entries(composed))('%s is what npm run compose writes', (file, text) => {
  expect(readFileSync(path.join(ROOT, file), 'utf8')).toBe(text);
});
