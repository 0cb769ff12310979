/** What a run had cost by a moment, so that a curve can be drawn over dollars. */
import type { Operations } from '../../client/operations.ts';
import { timeOf } from '../../client/run-view.ts';
import type { Axis, AxisName } from './curve.ts';

type RunAnswer = Operations['getRun']['answer'];
type Spent = Pick<RunAnswer, 'attempts' | 'money'>;

/** An attempt costs steadily from its start to its end; an open one has what the ended ones leave of the sum. */
function dollarsAt({ attempts, money }: Spent): (time: number) => number {
  const ended = attempts.reduce((sum, { costUsd = 0 }) => sum + costUsd, 0);
  const spans = attempts.map(({ createdAt, startedAt, outcome, costUsd }) => {
    const from = Date.parse(outcome?.startedAt ?? startedAt ?? createdAt);
    const to = Math.max(from + 1, timeOf(outcome?.endedAt) ?? Date.parse(money.asOf));
    return { from, to, usd: costUsd ?? Math.max(0, money.usd - ended) };
  });
  return (time) =>
    spans.reduce(
      (sum, { from, to, usd }) => sum + usd * Math.max(0, Math.min(1, (time - from) / (to - from))),
      0,
    );
}

export function axisOf(name: AxisName, spent: Spent): Axis {
  if (name === 'step') return { name, xOf: ({ position }) => position };
  if (name === 'time') return { name, xOf: ({ at }) => Date.parse(at) / 1000 };
  const dollars = dollarsAt(spent);
  return { name, xOf: ({ at }) => dollars(Date.parse(at)) };
}
