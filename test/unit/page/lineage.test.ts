/** Drops and their models, as the screen "Models" draws them. */
import { describe, expect, it } from 'vitest';
import { decidedText, lineageOf, ticksWithin } from '../../../page/model/lineage.ts';
import { AT, modelOf, runOf } from '../../support/builders/records.ts';

const judged = { metric: 'accuracy', verdict: 'better', against: 'digits-000002' } as const;

describe('a lineage', () => {
  it('begins with the first model on record', () => {
    const runs = [5, 4, 3, 2, 1].map((batch) =>
      runOf('digits', batch, {
        status: batch === 4 ? 'failed' : 'succeeded',
        ...(batch !== 4 && { modelUri: `s3://data/${batch}` }),
        ...(batch === 3 && { startedFrom: { runId: 'digits-000002', uri: 's3://data/2' } }),
      }),
    );
    const probe = runOf('digits', 0, { runId: 'digits-probe-000001', probe: { number: 1 } });
    const { drops } = lineageOf([modelOf(3, 'current'), modelOf(2, 'former')], [probe, ...runs]);
    expect(drops.map(({ runId, state, hasModel, from }) => [runId, state, hasModel, from])).toEqual([
      ['digits-000002', 'former', true, undefined],
      ['digits-000003', 'current', true, 'digits-000002'],
      ['digits-000004', 'failed', false, undefined],
      ['digits-000005', 'unrecorded', true, undefined],
    ]);
  });

  it.each([
    ['max', [0.91, 0.94]],
    ['min', [0.86, 0.89]],
  ] as const)('has an interval around its mean (%s is best)', (mode, interval) => {
    const scores = { ...judged, mode, mean: 0.9, better: 0.02, interval: [0.03, 0.06] };
    const [drop] = lineageOf([modelOf(3, 'candidate', { judged: scores })], []).drops;
    expect(drop?.value).toBe(0.9);
    expect(drop?.interval?.map((end) => Number(end.toFixed(2)))).toEqual(interval);
  });

  it('shows no scores of another metric', () => {
    const other = { ...judged, metric: 'f1', mean: 0.4 };
    const models = [
      modelOf(3, 'candidate', { judged: { ...judged, mean: 0.9 } }),
      modelOf(2, 'current', { judged: other }),
    ];
    const { metric, drops } = lineageOf(models, []);
    expect(metric).toBe('accuracy');
    expect(drops.map(({ value }) => value)).toEqual([undefined, 0.9]);
  });

  it('shows what trainings measured where nothing has scores', () => {
    const result = {
      finishedAt: AT,
      attempts: 1,
      interruptions: 0,
      lostSeconds: 0,
      costUsd: 1,
      onDemandUsd: 1,
      isDeadlineMet: null,
      metric: { name: 'loss', value: 0.3 },
      metrics: {},
    };
    const run = runOf('digits', 3, { status: 'succeeded', modelUri: 's3://data/3', result });
    expect(lineageOf([modelOf(3, 'current')], [run])).toMatchObject({
      metric: 'loss',
      drops: [{ value: 0.3 }],
    });
    expect(lineageOf([], [])).toEqual({ metric: undefined, drops: [] });
  });
});

it.each([
  [modelOf(3, 'current', { judged }), 'shown to be better'],
  [modelOf(3, 'current', { reason: 'promote: always' }), 'promote: always'],
  [modelOf(3, 'former', { judged, by: 'digits-000004' }), 'replaced by digits-000004'],
  [modelOf(3, 'rejected', { judged, by: 'ada', reason: 'labels are wrong' }), 'ada: labels are wrong'],
])('says who decided and why (%#)', (model, text) => {
  expect(decidedText(model)).toBe(text);
});

it.each([
  [0.85, 0.96, [0.85, 0.9, 0.95]],
  [-3, 41, [0, 20, 40]],
  [1000, 1001, [1000, 1000.5, 1001]],
])('ticks between %d and %d are round', (low, high, ticks) => {
  expect(ticksWithin(low, high).map((tick) => Number(tick.toFixed(6)))).toEqual(ticks);
});
