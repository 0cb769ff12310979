import { describe, expect, it } from 'vitest';
import { reportedTexts } from '../../../../client/amounts.ts';
import type { Series } from '../../../../functions/records/series.ts';
import { shownMetrics } from '../../../../functions/run/attempts/shown-metrics.ts';

const seriesOf = (
  name: string,
  values: readonly (number | null)[],
  unit: Series['unit'] = 'epoch',
): Series => ({
  name,
  source: 'log',
  unit,
  points: values.map((value, index) => ({
    position: index + 1,
    value,
    at: '2026-11-29T12:00:00.000Z',
    attempt: 1,
  })),
  lost: [],
});
const SERIES = [
  seriesOf('lr', [0.1, 0.01]),
  seriesOf('grad_norm', [1]),
  seriesOf('loss', [0.9, 0.3]),
  seriesOf('eval_accuracy', [0.6, 0.8, 0.7, null]),
  seriesOf('test.auc', [0.91]),
];

describe('the metrics of a run', () => {
  it('come with evaluations first and settings last', () => {
    const { metrics, leading, objective } = shownMetrics(SERIES, { 'f1 score': 0.5 });
    expect(Object.keys(metrics)).toEqual([
      'eval_accuracy',
      'test.auc',
      'f1 score',
      'loss',
      'lr',
      'grad_norm',
    ]);
    expect(leading).toEqual({ name: 'eval_accuracy', value: null });
    expect(objective).toBeUndefined();
  });

  it.each([
    ['min', 0.3, 2],
    ['max', 0.9, 1],
  ] as const)('are led by what is declared: %s', (mode, value, position) => {
    const shown = shownMetrics(SERIES, {}, { objective: { metric: 'loss', mode } });
    expect(Object.keys(shown.metrics)[0]).toBe('loss');
    expect(shown.leading).toEqual({ name: 'loss', value: 0.3 });
    expect(shown.objective).toEqual({ metric: 'loss', mode, best: { value, position, unit: 'epoch' } });
    expect(reportedTexts(shown)[0]).toBe(`loss 0.3 (best ${value} at epoch ${position})`);
  });

  it('name a declared one that never came', () => {
    const shown = shownMetrics(SERIES, {}, { objective: { metric: 'constructor', mode: 'max' } });
    expect(shown.leading).toBeUndefined();
    expect(reportedTexts(shown).slice(0, 2)).toEqual([
      'constructor: the script gave none',
      'eval_accuracy is no number',
    ]);
  });

  it("leave out the script's place", () => {
    const saved = {
      step: 880,
      totalSteps: 880,
      epoch: 3,
      global_step: 880,
      accuracy: 0.99,
      epochs_to_best: 2,
    };
    expect(Object.keys(shownMetrics([], saved).metrics)).toEqual(['accuracy', 'epochs_to_best']);
  });

  it('are none of a run that gave none', () => {
    expect(shownMetrics([])).toEqual({ metrics: {}, objective: undefined, leading: undefined });
  });
});
