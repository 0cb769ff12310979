import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import { generatedFiles } from '../../../cli/generate/generated-files.ts';

const ROOT = path.join(import.meta.dirname, '../../..');

it.each(Object.entries(generatedFiles()))('%s is what npm run generate writes', (file, text) => {
  expect(readFileSync(path.join(ROOT, file), 'utf8')).toBe(text);
});

/** Fewer than any tokenizer of a current model has in a token of such a text. */
const CHARACTERS_A_TOKEN = 3;

it('the skill has at most 4,000 tokens', () => {
  const text = readFileSync(path.join(ROOT, 'skills/tidewheel/SKILL.md'), 'utf8');
  expect(text).toMatch(/^---\nname: tidewheel\ndescription: [^]{50,1000}\n---\n/);
  expect(text.length / CHARACTERS_A_TOKEN).toBeLessThanOrEqual(4_000);
});

it('llms.txt names files that are there', () => {
  const text = readFileSync(path.join(ROOT, 'llms.txt'), 'utf8');
  const files = [...text.matchAll(/\]\(([^)]+)\)/g)].map(([, file = '']) => file);
  expect(files.length).toBeGreaterThan(20);
  expect(files.filter((file) => !existsSync(path.join(ROOT, file)))).toEqual([]);
});
