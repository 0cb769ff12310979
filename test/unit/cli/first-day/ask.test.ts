/** What a person answers before a step that costs something, typed at a terminal. */
import { PassThrough } from 'node:stream';
import { expect, it } from 'vitest';
import { askAt } from '../../../../cli/command/terminal.ts';

const CTRL_C = '\x03';
const CTRL_D = '\x04';

async function answerTo(typed: string | undefined): Promise<[string, { isStopped: boolean }]> {
  const stopping = new AbortController();
  const stdin = new PassThrough();
  const stdout = Object.assign(new PassThrough(), { isTTY: true });
  const answer = askAt({ stdin, stdout }, { signal: stopping.signal, stop: () => stopping.abort() });
  if (typed === undefined) stdin.end();
  else stdin.write(typed);
  return [await answer, { isStopped: stopping.signal.aborted }];
}

it.each([
  ['y\n', 'yes'],
  ['YES\n', 'yes'],
  ['\n', 'no'],
  ['yesterday\n', 'no'],
])('%j is the answer %s', async (typed, answer) => {
  expect(await answerTo(typed)).toEqual([answer, { isStopped: false }]);
});

it('Ctrl-C stops the day as its signal does', async () => {
  expect(await answerTo(CTRL_C)).toEqual(['stop', { isStopped: true }]);
});

it.each([CTRL_D, undefined])('the end of the input is no answer', async (typed) => {
  expect(await answerTo(typed)).toEqual(['stop', { isStopped: false }]);
});
