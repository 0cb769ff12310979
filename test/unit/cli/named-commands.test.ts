/** Commands that pages, docs and messages name exist, with the options that they name. */
import { globSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { expect, it } from 'vitest';
import type { Verb } from '../../../cli/command/verb.ts';
import { isCommand } from '../../../cli/dataset/commands.ts';
import { VERBS } from '../../../cli/verbs.ts';

const ROOT = path.join(import.meta.dirname, '../../..');
const PLACES = [
  'page/**/*.tsx',
  'docs/*.md',
  'README.md',
  'training/**/README.md',
  'functions/**/*.ts',
  'packages/**/*.ts',
];
const WITHOUT_OPTIONS = ['help', 'completion'];

/** Behind `npx tidewheel`, up to what ends a command in prose or in code. */
const NAMED = /npx (?:--no-install )?tidewheel ([a-z][a-z-]*)((?:[ \t]+[^\s`'"|;)]+)*)/g;

async function problemOf(verb: string, words: readonly string[]): Promise<string | undefined> {
  if (WITHOUT_OPTIONS.includes(verb)) return undefined;
  if (!isVerb(verb)) return 'no such verb';
  const found: { readonly verb: Verb } = await VERBS[verb]();
  const options = words
    .filter((word) => /^--[a-z]/.test(word))
    .map((word) => word.slice(2).replace(/[=.,:].*$/, ''));
  const unknown = options.find((option) => !Object.hasOwn(found.verb.options, option));
  if (unknown !== undefined) return `no option --${unknown}`;
  const [command = ''] = words;
  return verb === 'data' && /^[a-z]+$/.test(command) && !isCommand(command) ? 'no such command' : undefined;
}

const isVerb = (name: string): name is keyof typeof VERBS => Object.hasOwn(VERBS, name);

it('exist, with their options', async () => {
  const files = PLACES.flatMap((place) => globSync(place, { cwd: ROOT, exclude: ['packages/*/tests/**'] }));
  const named = files.flatMap((file) =>
    [...readFileSync(path.join(ROOT, file), 'utf8').matchAll(NAMED)].map(([whole, verb = '', rest = '']) => ({
      where: `${file}: ${whole}`,
      verb,
      words: rest.trim().split(/\s+/),
    })),
  );
  expect(named.length).toBeGreaterThan(40);
  const problems: string[] = [];
  for (const { where, verb, words } of named) {
    const problem = await problemOf(verb, words);
    if (problem !== undefined) problems.push(`${where}: ${problem}`);
  }
  expect(problems).toEqual([]);
}, 30_000);
