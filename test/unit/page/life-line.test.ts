/** What the page draws of a run, from records as the API answers them. */
import { expect, it } from 'vitest';
import { lifeLineOf, type RunView } from '../../../page/model/life-line.ts';
import {
  AT,
  attemptOf,
  outcomeOf,
  placementOf,
  progressOf,
  runOf,
  secondsAfter,
} from '../../support/builders/records.ts';

const ID = 'digits-000001';
const START = Date.parse(AT);
const onDemand = { ...placementOf().pool, purchaseOption: 'on-demand' as const };

const view = (over: Partial<RunView> = {}): RunView => ({
  run: runOf('digits', 1, { status: 'training', closedAt: secondsAfter(60), sealedAt: secondsAfter(100) }),
  attempts: [
    attemptOf(ID, 1, {
      createdAt: secondsAfter(110),
      progressAfter: progressOf(40, { updatedAt: secondsAfter(300) }),
      outcome: outcomeOf('interrupted', { scriptStartedAt: secondsAfter(150), endedAt: secondsAfter(400) }),
    }),
    attemptOf(ID, 2, { createdAt: secondsAfter(420), placement: placementOf({ pool: onDemand }) }),
  ],
  timeline: [],
  ...over,
});

const spansOf = (of: RunView, now = 500) =>
  lifeLineOf(of, START + now * 1000).spans.map(({ kind, from, to }) => [
    kind,
    (from - START) / 1000,
    (to - START) / 1000,
  ]);

it('follows a run through an interruption', () => {
  expect(spansOf(view())).toEqual([
    ['settle', 0, 60],
    ['pack', 60, 100],
    ['place', 100, 110],
    ['start', 110, 150],
    ['spot', 150, 400],
    ['lost', 300, 400],
    ['place', 400, 420],
    ['on-demand', 420, 500],
  ]);
});

it('counts all work as lost without a save', () => {
  const [first] = view().attempts;
  if (first === undefined) throw new Error('no attempt');
  const handedOn = { ...first, progressAfter: progressOf(0, { updatedAt: AT }) };
  expect(spansOf(view({ attempts: [handedOn] }))).toContainEqual(['lost', 150, 400]);
  expect(lifeLineOf(view({ attempts: [handedOn] }), START + 500_000).marks).toEqual([]);
});

it('marks the saves of each attempt', () => {
  expect(lifeLineOf(view(), START + 500_000).marks).toEqual([
    { kind: 'save', at: START + 300_000, text: 'saved 40' },
  ]);
});

it('ends a failed run at its last change', () => {
  const run = runOf('digits', 1, { status: 'failed', updatedAt: secondsAfter(30) });
  expect(spansOf(view({ run, attempts: [] }))).toEqual([['settle', 0, 30]]);
});

it('has a width at the first arrival', () => {
  const { from, to, spans } = lifeLineOf(view({ run: runOf('digits', 1), attempts: [] }), START);
  expect(to - from).toBe(1);
  expect(spans).toEqual([]);
});

it.each([
  [900, 900],
  [1_100, undefined],
])('shows a deadline that is near: %i s', (deadlineSeconds, shown) => {
  const deadline = { at: secondsAfter(deadlineSeconds), met: true };
  const report = { finishedAt: secondsAfter(500), deadline, attempts: [] as const };
  const line = lifeLineOf(view({ report: report as unknown as RunView['report'] }), START);
  expect(line.deadline).toBe(shown === undefined ? undefined : START + shown * 1_000);
  expect(line.to).toBe(START + (shown ?? 500) * 1_000);
});
