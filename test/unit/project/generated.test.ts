import { readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { generatedFiles } from '../../../cli/generate/generated-files.ts';

const ROOT = path.join(import.meta.dirname, '../../..');

it.each(Object.entries(generatedFiles()))('%s is what npm run generate writes', (file, text) => {
  expect(readFileSync(path.join(ROOT, file), 'utf8')).toBe(text);
});
