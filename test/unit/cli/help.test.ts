/** The help of every verb, as a terminal shows it. */
import { beforeAll, expect, it } from 'vitest';
import type { Verb } from '../../../cli/command/verb.ts';
import { VERBS } from '../../../cli/verbs.ts';

const COLUMNS = 120;
const helps: string[] = [];

beforeAll(async () => {
  const loaded: readonly { readonly verb: Verb }[] = await Promise.all(
    Object.values(VERBS).map((load) => load()),
  );
  helps.push(...loaded.map(({ verb }) => verb.help()));
}, 30_000);

it('fits a terminal, but for its examples', () => {
  const lines = helps.flatMap((help) => (help.split('\nExamples:')[0] ?? '').split('\n'));
  expect(lines.length).toBeGreaterThan(200);
  expect(lines.filter((line) => line.length > COLUMNS)).toEqual([]);
});

it('indents the first command as the others', () => {
  const text = helps.join('\n');
  expect(text).toMatch(/^ {2}ls \[PIPELINE\]/m);
  expect(text).toMatch(/^ {2}list {6}all generations/m);
});
