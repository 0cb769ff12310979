/** What a hostile declaration is answered with stays small enough to be kept and read. */
import { expect, it } from 'vitest';
import { readDeclaration } from '../schema/declaration.ts';

const GOOD = 'name: digits\ntraining: { strategy: single }\ncompute: { instanceTypes: [c5.xlarge] }\n';
/** That of an item of DynamoDB; the record holds little else. */
const MOST_BYTES = 400_000;
const repeated = (text: (index: number) => string, separator: string) =>
  Array.from({ length: 5_000 }, (_, index) => text(index)).join(separator);
const LOST_DIGITS = '9'.repeat(17);

it.each([
  ['repeats a key', repeated(() => 'name: digits', '\n')],
  ['has a long path', `${GOOD}x-${'€'.repeat(1_000)}: [${repeated(() => LOST_DIGITS, ',')}]\n`],
])('one that %s has problems that fit', (_, text) => {
  const declaration = readDeclaration('digits', text);
  const problems = declaration.valid ? [] : declaration.problems;
  expect(problems).not.toEqual([]);
  expect(Buffer.byteLength(JSON.stringify(problems))).toBeLessThan(MOST_BYTES);
});

it('says how many of its problems were left out', () => {
  const text = repeated((index) => `k: ${index}`, '\n');
  const declaration = readDeclaration('digits', text);
  expect(declaration.valid || declaration.problems.at(-1)).toEqual({
    path: '',
    message: 'has 4949 more problems, correct these first',
  });
});

it('is refused in plain words when nested too deeply', () => {
  const declaration = readDeclaration(
    'digits',
    `${GOOD}x-deep: ${'['.repeat(10_000)}${']'.repeat(10_000)}\n`,
  );
  expect(declaration).toEqual({
    valid: false,
    problems: [{ path: '', message: 'is nested too deeply, take levels out' }],
  });
});
