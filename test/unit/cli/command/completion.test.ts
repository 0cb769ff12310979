import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { completionOf, SHELLS } from '../../../../cli/command/completion.ts';
import { terminalOf } from '../../../../cli/command/terminal.ts';
import { defineVerb, option } from '../../../../cli/command/verb.ts';

const verb = defineVerb({
  name: 'drop',
  summary: "upload a folder's files",
  positionals: ['DIR', 'PIPELINE?'],
  options: { label: option('TEXT', "the samples' label", z.string().optional(), 'l') },
  examples: [['data', 'all of it']],
  run: () => Promise.resolve(0),
});
const several = defineVerb({
  name: 'model',
  summary: 'list or fetch',
  positionals: ['COMMAND'],
  commands: ['ls', 'get'],
  deployment: 'none',
  options: {},
  examples: [],
  run: () => Promise.resolve(0),
});

describe.each(SHELLS)('completions for %s', (shell) => {
  it('name the verb and its options', () => {
    const script = completionOf(shell, 'tidewheel', [verb]);
    expect(script).toMatch(/drop/);
    expect(script).toMatch(shell === 'fish' ? /-l label -s l/ : /--label/);
  });

  it('name the commands of a verb', () => {
    expect(completionOf(shell, 'tidewheel', [verb, several])).toMatch(/\bls get\b/);
  });

  it('quote what stands in quotes', () => {
    expect(completionOf(shell, 'tidewheel', [verb])).not.toMatch(/folder's|samples'/);
  });
});

it('a mistyped command is answered with the nearest', async () => {
  const surroundings = { terminal: terminalOf(process, {}), folder: '/', environment: {}, clone: undefined };
  await expect(several.invoke(['gte'], surroundings)).rejects.toThrow(
    'there is no command "gte": did you mean get?',
  );
  await expect(several.invoke(['fetch'], surroundings)).rejects.toThrow('the commands are ls, get');
});

describe('the help of a verb', () => {
  it('has words, options and examples', () => {
    expect(verb.help()).toMatch(
      /^tidewheel drop DIR \[PIPELINE\] \[OPTIONS\]\n\nUpload a folder's files\.\n/,
    );
    expect(verb.help()).toMatch(/-l, --label TEXT +the samples' label\n/);
    expect(verb.help()).toMatch(/Examples:\n {2}tidewheel drop data {2}all of it$/);
  });
});
