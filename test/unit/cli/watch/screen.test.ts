import fc from 'fast-check';
import pc from 'picocolors';
import { describe, expect, it } from 'vitest';
import { visible } from '../../../../cli/command/format.ts';
import { screenLines } from '../../../../cli/watch/screen.ts';
import type { RunView, Series } from '../../../../cli/watch/view.ts';
import {
  AT,
  attemptOf,
  declarationOf,
  outcomeOf,
  placementOf,
  progressOf,
  runOf,
  secondsAfter,
} from '../../../support/builders/records.ts';

const NOW = Date.parse(secondsAfter(5_000));
const plain = (view: RunView, series: Series = [], columns = 80): string[] =>
  screenLines({ view, series }, { now: NOW, columns, colours: pc.createColors(false) });

const RUN = runOf('digits', 42, {
  status: 'training',
  declaration: declarationOf('digits', { limits: { deadlineHours: 12, attempts: 50 } }),
  closedAt: secondsAfter(100),
  sealedAt: secondsAfter(200),
});
const lost = attemptOf(RUN.runId, 1, {
  createdAt: secondsAfter(300),
  outcome: outcomeOf('interrupted', {
    endedAt: secondsAfter(2_000),
    trainingSeconds: 1_500,
    billableSeconds: 600,
  }),
  progressAfter: progressOf(4_000, { updatedAt: secondsAfter(1_800) }),
});
const running = attemptOf(RUN.runId, 2, {
  status: 'running',
  createdAt: secondsAfter(2_100),
  placement: placementOf({
    pool: { instanceType: 'g5.xlarge', zoneId: 'use1-az1', launcher: 'sagemaker', purchaseOption: 'spot' },
  }),
});
const view: RunView = {
  run: RUN,
  attempts: [lost, running],
  timeline: [],
  progress: progressOf(4_800, { totalSteps: 9_600, trainingSeconds: 4_800, updatedAt: secondsAfter(4_990) }),
};
const series: Series = [
  {
    name: 'loss',
    unit: 'step',
    points: Array.from({ length: 10 }, (_, index) => ({ position: index * 500, value: 1 - index / 12 })),
  },
];

describe('the screen of a run', () => {
  it('shows both attempts, the lost work and the finish', () => {
    const [head = '', life = ''] = plain(view, series);
    expect(head).toMatch(/^digits-000042 {2}training {2}attempt 2 of 50 +deadline .+ left\)$/);
    expect(life).toMatch(/^settle▏pack▏ g5\.xlarge az4 ━+╳▒+ az1 ━+▶ +◌ /);
  });

  it('shows progress, pace, loss and money', () => {
    const [, , progress, money] = plain(view, series);
    expect(progress).toMatch(/^step 4,800 \/ 9,600 {3}50 % {2}█{8}░{8} +1 s a step {3}loss 0\.25 ↘$/);
    expect(money).toMatch(/^USD 2\.92 of 6\.92 {3}On-Demand would be 3\.67$/);
  });

  it('fits every width and every number of attempts', () => {
    const attempts = (count: number) =>
      Array.from({ length: count }, (_, index) => ({ ...lost, attempt: index + 1 }));
    fc.assert(
      fc.property(fc.integer({ min: 40, max: 200 }), fc.integer({ min: 0, max: 80 }), (columns, count) => {
        const lines = plain({ ...view, attempts: [...attempts(count), running] }, series, columns);
        expect(Math.max(...lines.map((line) => visible(line).length))).toBeLessThanOrEqual(columns);
      }),
    );
  });

  it('obeys no control characters of foreign text', () => {
    const failed = { ...RUN, status: 'failed' as const, failure: 'Error: \u001b[2J\u0007gone' };
    const hostile: Series = series.map((each) => ({ ...each, name: 'a\u001b[2Jloss' }));
    const text = plain({ ...view, run: failed }, hostile).join('');
    expect(text).toContain('gone');
    expect(text).not.toContain('\u001b');
    expect(text).not.toContain('\u0007');
  });

  it('waits for data without a line too many', () => {
    const waiting = runOf('digits', 1, { createdAt: AT });
    expect(plain({ run: waiting, attempts: [], timeline: [] })).toEqual([
      'digits-000001  settling',
      'settle…▏',
    ]);
  });
});
