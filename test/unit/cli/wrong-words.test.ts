/** Wrong words for every verb, and wrong declarations for those that read one: each is answered in a person's words. */
import { writeFile } from 'node:fs/promises';
import path from 'node:path';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { beforeAll, describe, expect, it } from 'vitest';
import { terminalOf } from '../../../cli/command/terminal.ts';
import type { Verb } from '../../../cli/command/verb.ts';
import { readTraining } from '../../../cli/try/declared.ts';
import { proposedFor } from '../../../cli/verbs/init.ts';
import { VERBS } from '../../../cli/verbs.ts';
import { folderOfSuite } from '../../support/folders.ts';

/** A validator's own, and what a program shows of its insides. */
const RAW =
  /\bInvalid\b|Unrecognized|ZodError|[Ee]xpected .*received|\breceived \w+$|\bNaN\b|undefined|\[object|^\s*at .*:\d+:\d+|TypeError|RangeError|SyntaxError/m;
const WRONG = [
  '',
  ' ',
  'x',
  '-1',
  '0',
  '1e999',
  'nan',
  'a=b=c',
  '=',
  '{',
  '[]',
  '../..',
  '💥',
  'x'.repeat(3_000),
];
/** No verb begins its work with it. */
const STOP = '--no-such-option';

const folder = folderOfSuite('wrong-words');

async function problemsOf(act: () => Promise<unknown>): Promise<readonly string[]> {
  try {
    await act();
  } catch (error: unknown) {
    return error instanceof UsageError ? error.problems : [`not a UsageError: ${String(error)}`];
  }
  return ['undefined: nothing was refused'];
}

const raw = (problems: readonly string[]): readonly string[] => problems.filter((each) => RAW.test(each));

describe.each(Object.entries(VERBS))('tidewheel %s', (_, load) => {
  let verb: Verb;
  beforeAll(async () => {
    verb = (await load()).verb;
  }, 30_000);

  const said = (words: readonly string[]) =>
    problemsOf(() =>
      verb.invoke([...words, STOP], {
        terminal: terminalOf(process, {}),
        folder,
        environment: {},
        clone: undefined,
      }),
    );

  it('answers wrong words in words of its own', async () => {
    const valued = Object.entries(verb.options).filter(([, { value }]) => value !== undefined);
    const lines = [
      ...valued.flatMap(([name]) => WRONG.map((word) => [`--${name}=${word}`])),
      ...valued.map(([name]) => [`--${name}`]),
      ...Object.keys(verb.options).map((name) => [`--${name}=yes`, `--${name}`]),
      ...WRONG.map((word) => [word, word, word, word]),
    ];
    for (const words of lines) expect({ words, raw: raw(await said(words)) }).toEqual({ words, raw: [] });
  });
});

it.each([
  '',
  '5',
  '[]',
  'name: 5',
  'name: a\nx-local: 5',
  'name: a\nx-local: []',
  'name: a\nx-local: { source: 5, data: [] }',
  'name: a\nx-local: { source: ../.., sorce: . }',
  'name: [a',
  'name: a\ntraining: 5\ncompute: []\npacking: {}\nlimits: { deadlineHours: many }',
  'name: a\ntraining: { strategy: x, channels: { a: b, "c d": 5 }, environment: { "a b": 1 }, arguments: 5 }',
])('a wrong declaration is answered likewise: %j', async (text) => {
  const file = path.join(folder, 'tidewheel.yaml');
  await writeFile(file, text);
  const nothing = {
    entryPoint: undefined,
    arguments: undefined,
    environment: {},
    channels: {},
    propose: proposedFor,
  };
  const problems = await problemsOf(() => readTraining({ folder, declaration: file, ...nothing }));
  expect(raw(problems)).toEqual([]);
});
