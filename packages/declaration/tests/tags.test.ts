import { expect, it } from 'vitest';
import { readDeclaration } from '../schema/declaration.ts';

function problemsOf(money: object): readonly string[] {
  const written = {
    name: 'digits',
    training: { strategy: 'single' },
    compute: { instanceTypes: ['g5.xlarge'] },
    ...money,
  };
  const read = readDeclaration('digits', JSON.stringify(written));
  return read.valid ? [] : read.problems.map(({ path, message }) => `${path}: ${message}`);
}
const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, `${index}`]));

it.each([
  { owner: 'vision@example.com', tags: { team: 'vision', 'cost-center': '4711', empty: '' } },
  { tags: { 'a/b:c=d+e-f@g.h_i j': 'Zürich 東京' } },
  { tags: { ['k'.repeat(127)]: 'v'.repeat(256) } },
  { tags: many(43) },
])('tags by the rules of AWS are taken: %#', (money) => {
  expect(problemsOf(money)).toEqual([]);
});

it('all that AWS refuses is named at once', () => {
  const tags = {
    'AWS:x': 'a',
    'tidewheel:run': 'a',
    Name: 'a',
    '': 'a',
    'a;b': 'a',
    ['k'.repeat(128)]: 'a',
    number: 4711,
    long: 'v'.repeat(257),
    odd: 'a#b',
  };
  const problems = problemsOf({ owner: '', tags });
  for (const said of [
    /^owner: .*name a person or a team/,
    /^tags.AWS:x: .*AWS reserves aws:/,
    /^tags.tidewheel:run: .*the service sets tidewheel:/,
    /^tags.Name: .*the service names hosts by it/,
    /^tags.: .*write a key/,
    /^tags.a;b: .*use letters, digits/,
    /^tags.k+: .*at most 127 characters/,
    /^tags.number: .*a number in quotes/,
    /^tags.long: .*at most 256 characters/,
    /^tags.odd: .*use letters, digits/,
  ])
    expect(problems).toContainEqual(expect.stringMatching(said));
  expect(problems.some((each) => /Invalid/.test(each))).toBe(false);
  expect(problemsOf({ tags: many(44) })).toEqual([expect.stringContaining('at most 43 tags: AWS takes 50')]);
});
