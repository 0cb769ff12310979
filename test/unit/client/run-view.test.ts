/** When an attempt trained and what it lost: one rule for the page and the command line. */
import { expect, it } from 'vitest';
import { codeText, timesOfAttempt } from '../../../client/run-view.ts';
import { AT, attemptOf, outcomeOf, progressOf, secondsAfter } from '../../support/builders/records.ts';

const START = Date.parse(AT);
const interrupted = outcomeOf('interrupted', {
  scriptStartedAt: secondsAfter(40),
  endedAt: secondsAfter(400),
});

const timesOf = (over: Parameters<typeof attemptOf>[2] = {}) => {
  const attempt = attemptOf('digits-000001', 1, over);
  const { begun, script, lostFrom, end } = timesOfAttempt(attempt, undefined, START + 500_000);
  return [begun, script, lostFrom, end].map((time) => (time - START) / 1000);
};

it('loses what no save covers', () => {
  const saved = progressOf(40, { updatedAt: secondsAfter(300) });
  expect(timesOf({ outcome: interrupted, progressAfter: saved })).toEqual([0, 40, 300, 400]);
});

it('loses all of its training without a save', () => {
  expect(timesOf({ outcome: interrupted })).toEqual([0, 40, 40, 400]);
});

it('loses nothing while it goes on', () => {
  expect(timesOf()).toEqual([0, 0, 500, 500]);
});

it.each([
  [{}, undefined],
  [{ source: 'b'.repeat(64) }, 'source bbbbbbbbbbbb'],
  [{ git: { commit: 'a'.repeat(40), isDirty: false } }, 'aaaaaaaaaaaa'],
  [
    { git: { commit: 'a'.repeat(40), branch: 'main', isDirty: true }, source: 'b'.repeat(64) },
    'aaaaaaaaaaaa (main), with uncommitted changes; source bbbbbbbbbbbb',
  ],
])('names the code of a run: %j', (run, text) => {
  expect(codeText(run)).toBe(text);
});
