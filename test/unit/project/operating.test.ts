/** What went wrong in months of operation has a test each, which exists by the name that docs/research/operating.md gives. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';

const ROOT = path.join(import.meta.dirname, '../../..');
const FILES = globSync('{test,packages,emulators,training,bench}/**/*.{ts,py}', {
  cwd: ROOT,
  exclude: ['**/node_modules/**'],
});

const rows = readFileSync(path.join(ROOT, 'docs/research/operating.md'), 'utf8')
  .split('\n')
  .filter((line) => /^\| (?!id |-)/.test(line))
  .map((line) => line.split(' | '))
  .map((cells) => ({
    ids: cells[0]?.slice(2).split(', ') ?? [],
    tests: cells.at(-1)?.replace(/ \|$/, '') ?? '',
  }));

const SEEN = [
  ...[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 14, 15, 17, 18].map((number) => `F${number}`),
  'OS1',
  'OS2',
  'OS3',
  'H1',
  'H2',
  'H3',
  'H4',
  'OD1',
  'OD4',
  'K1',
  'C1',
  'N1',
  'A1',
  'A2',
  'A3',
  'A4',
  'P1',
  'P2',
  'P3',
  'R1',
  'R2',
  'R3',
  'R4',
  'R5',
  'R6',
  'R8',
  'S1',
  'S2',
  'S3',
  'S4',
  'S5',
  'S6',
];

/** A file that ends so, and words of it. */
const problemOf = ([, name = '', words = '']: readonly string[]): string[] => {
  const found = FILES.filter((file) => file.endsWith(`/${name}`) || file === name);
  const texts = found.map((file) => readFileSync(path.join(ROOT, file), 'utf8'));
  return texts.some((text) => text.includes(words.trim())) ? [] : [`${name}: ${words}`];
};

describe('a table of what went wrong', () => {
  it('has each that was seen', () => {
    const ids = new Set(rows.flatMap((row) => row.ids));
    expect(SEEN.filter((id) => !ids.has(id))).toEqual([]);
  });

  it('names tests that exist', () => {
    const named = rows.map(({ tests }) => [...tests.matchAll(/`([^`]+)`(?::([^;`]+))?/g)]);
    expect(rows.filter((_, row) => named[row]?.length === 0)).toEqual([]);
    expect(named.flat().flatMap(problemOf)).toEqual([]);
  });
});
