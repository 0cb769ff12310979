import { describe, expect, it } from 'vitest';
import { compareMeasuredRuns } from '../../../../../functions/run/attempts/doctor/compare-runs.ts';
import { AT, attemptOf, placementOf, runOf, secondsAfter } from '../../../../support/builders/records.ts';

const HOUR = 3_600;

function comparedRun(batch: number, losses: readonly number[], hours = 1) {
  const runId = `digits-00000${batch}`;
  const outcome = {
    kind: 'completed',
    message: '',
    startedAt: AT,
    endedAt: secondsAfter(hours * HOUR),
    trainingSeconds: hours * HOUR,
    billableSeconds: hours * HOUR,
    interruptions: 0,
  } as const;
  const speed = {
    samplesPerSecond: 100,
    samplesPerDollar: 2e5,
    stepSeconds: { median: 0.2, p95: 0.3 },
    cpuBusy: 0.5,
    gpuBusy: 0.9,
    seconds: 600,
    steps: 3_000,
  };
  const placement = placementOf({ onDemandHourlyUsd: 2, topology: { nodes: 1, acceleratorsPerNode: 1 } });
  const points = losses.map((value, index) => ({
    position: index,
    value,
    at: secondsAfter(((index + 1) * hours * HOUR) / losses.length),
    attempt: 1,
  }));
  return {
    run: runOf('digits', batch, { status: 'succeeded' }),
    attempts: [attemptOf(runId, 1, { placement, outcome, diagnosis: { at: AT, speed, verdicts: [] } })],
    series: [{ name: 'loss', source: 'log', unit: 'step', points, lost: [] } as const],
  };
}

describe('runs side by side', () => {
  const { rows, metric } = compareMeasuredRuns([comparedRun(1, [4, 2, 1, 0.5]), comparedRun(2, [3, 1], 2)]);

  it('have samples, dollars and utilisation', () => {
    expect(rows[0]).toMatchObject({
      topology: '1 x g5.xlarge',
      samplesPerSecond: 100,
      usdPerMillionSamples: 5,
      gpuBusy: 0.9,
      costUsd: 2,
    });
  });

  it('are weighed at the value that all have reached', () => {
    expect(metric).toEqual({ name: 'loss', value: 1 });
    expect(rows.map(({ costToMetricUsd }) => costToMetricUsd)).toEqual([1.5, 4]);
  });

  it('show a probe by the steps that it measured', () => {
    const samplesPerSecond = { mean: 500, low: 400, high: 600 };
    const stepSeconds = { mean: 0.04, low: 0.03, high: 0.05 };
    const speed = {
      basis: 'hooks',
      clock: 'host',
      hosts: 1,
      steps: 60,
      stepSeconds,
      samplesPerSecond,
    } as const;
    const { rows } = compareMeasuredRuns([{ ...comparedRun(4, [2, 1]), probed: { speed, usdPerHour: 0.9 } }]);
    expect(rows[0]).toMatchObject({
      topology: '1 x g5.xlarge',
      samplesPerSecond: 500,
      usdPerMillionSamples: expect.closeTo(0.5, 6),
    });
  });

  it('show what was not measured as absent', () => {
    const bare = { ...comparedRun(3, []), attempts: [attemptOf('digits-000003', 1)], series: [] };
    expect(compareMeasuredRuns([bare, bare])).toMatchObject({ rows: [{ costUsd: 0 }, { costUsd: 0 }] });
    expect(compareMeasuredRuns([bare, bare]).metric).toBeUndefined();
  });
});
