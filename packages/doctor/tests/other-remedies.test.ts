/** Further remedies with a forecast, and what every verdict holds. */
import { describe, expect, it } from 'vitest';
import { caseOf } from '../../../bench/doctor/generate.ts';
import { play } from '../../../bench/doctor/simulate.ts';
import { evidenceOf } from '../../../test/support/builders/evidence.ts';
import { diagnose } from '../rules/diagnose.ts';
import type { Evidence } from '../rules/evidence.ts';
import { formatVerdicts } from '../rules/format-verdicts.ts';
import type { Verdict } from '../rules/verdict.ts';

const NIGHTLY = { data: { bytes: 5e11, files: 2_000 }, runsPerMonth: 30 };
const downloaded = (rest: Partial<Evidence>) => evidenceOf([{}], { download: 3_200 }, rest);
const otherOf = (verdict: Verdict | undefined, kind: string) =>
  verdict?.others?.find(({ remedy }) => remedy.change.kind === kind);

describe('FSx for Lustre', () => {
  const forecast = (rest: Partial<Evidence>) => otherOf(diagnose(downloaded(rest))[0], 'file-system');

  it('shares its storage among the runs of a month', () => {
    const { gain, remedy, unknown } = forecast(NIGHTLY) ?? {};
    expect(remedy?.change).toEqual({ kind: 'file-system', gigabytes: 1_200 });
    // 500 GB once at 234 MB/s take 2,133 s, which 10,000 steps of 0.2 s do not hide: 0.0133 s each are lost.
    const slower = 10_000 * (5e11 / 10_000 / ((1_200 * 2e8) / 1_024) - 0.2);
    expect(gain?.seconds.expected).toBeCloseTo(3_200 - slower, 6);
    const { usdPerSecond } = evidenceOf([{}]).instance;
    expect(gain?.dollars.expected).toBeCloseTo((3_200 - slower) * usdPerSecond - (1_200 * 0.14) / 30, 6);
    expect(unknown?.[0]).toBe('whether 30 runs a month go on: they share $168 of storage');
  });

  it('costs more where few runs share it', () => {
    expect(forecast({ ...NIGHTLY, runsPerMonth: 2 })?.gain.dollars.expected).toBeLessThan(0);
    expect(forecast({ ...NIGHTLY, runsPerMonth: 300 })?.gain.dollars.expected).toBeGreaterThan(0);
  });

  it('is none for a run that comes once', () => {
    expect(forecast({ ...NIGHTLY, runsPerMonth: 1 })).toBeUndefined();
    expect(forecast({ ...NIGHTLY, runsPerMonth: undefined })).toBeUndefined();
  });
});

describe('a type with NVMe', () => {
  const on = (type: string) => {
    const waiting = { type, shares: { wait: 0.6, compute: 0.4 }, workerBusy: 0.9, gpuBusy: 0.35 };
    const evidence = evidenceOf([{ ...waiting, alternatives: ['c5.4xlarge', 'c5.9xlarge'] }]);
    const disk = { readBytesPerSecond: 2.1e8, writtenBytesPerSecond: 0 };
    return { ...evidence, points: evidence.points.map((each) => ({ ...each, disk })) };
  };

  it('reads what memory does not hold', () => {
    const evidence = on('p3.2xlarge');
    const [listed] = evidence.alternatives;
    const facts = { ...evidence.instance.facts, type: 'p3n.2xlarge', nvmeGb: 900 };
    const [top] = diagnose({
      ...evidence,
      data: { bytes: 5e11, files: 2_000 },
      phases: { ...evidence.phases, download: 0 },
      alternatives: [{ facts, usdPerSecond: evidence.instance.usdPerSecond }, ...(listed ? [listed] : [])],
    });
    const forecasts = [top, ...(top?.others ?? [])];
    const nvme = forecasts.find((each) => each?.remedy?.text.includes('p3n.2xlarge'));
    expect(top?.cause).toBe('page-cache');
    expect(nvme?.gain.seconds.low).toBeGreaterThan(0);
    expect(nvme?.unknown).toContain('how fast its NVMe is: 700 MB/s are assumed');
  });
});

it('a download of the image is a cause', () => {
  const [top] = diagnose(evidenceOf([{}], { image: 1_500 }));
  expect(top).toMatchObject({ cause: 'image', remedy: { change: { kind: 'smaller-image' } } });
  expect(top?.gain.seconds).toEqual({ low: 0, expected: 750, high: 1_500 });
});

it('the terminal shows each with its interval', () => {
  const evidence = downloaded(NIGHTLY);
  const text = formatVerdicts(evidence, diagnose(evidence));
  expect(text).toMatch(/ {3}or \(declaration\): training\.channels: .*storageGigabytes: 1200/);
  expect(text).toMatch(/ {6}saves .* \(.* to .*\) s and \$.* \(.* to .*\); not known: whether 30 runs/);
});

it.each(Array.from({ length: 24 }, (_, k) => 7_000 + k))(
  'seed %i leaves no part of a verdict out',
  (seed) => {
    const verdicts = diagnose(play(caseOf(seed).workload).evidence);
    for (const { cause, evidence, remedy, gain, unknown, next } of verdicts) {
      expect(Object.keys(evidence).length).toBeGreaterThan(0);
      expect([unknown.length > 0, next !== undefined]).toEqual([true, true]);
      for (const { low, expected, high } of [gain.seconds, gain.dollars])
        expect([Number.isFinite(expected), low <= expected, expected <= high]).toEqual([true, true, true]);
      expect(remedy === undefined).toBe(cause === 'nothing-wrong');
    }
  },
);
