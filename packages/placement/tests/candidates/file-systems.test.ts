/** The price of a file system in the choice of a pool, in the plan of a run and in its report. */

import { lustreGigabytesFor } from '@tidewheel/catalog/prices.ts';
import { trainingSchema } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import { makeReport } from '../../../../functions/run/attempts/make-report.ts';
import { launched, market, onDemand, question } from '../../../../test/support/builders/placement.ts';
import {
  attemptOf,
  outcomeOf,
  placementOf,
  runOf,
  secondsAfter,
} from '../../../../test/support/builders/records.ts';
import { fileSystemsOf } from '../../candidates/pool-costs.ts';
import { choosePlacement } from '../../decision/choose.ts';
import { forecastRun } from '../../futures/forecast.ts';
import type { Placement } from '../../records/placement-records.ts';

const LUSTRE = { fsxLustre: 'fs-0123456789abcdef0', directory: '/abcd/images' };
const trainingOf = (channels: Record<string, unknown>) => trainingSchema.parse({ strategy: 'ddp', channels });
const ofChannel = (more: object) => fileSystemsOf(trainingOf({ images: { ...LUSTRE, ...more } }));

describe('an hour of a file system', () => {
  it('costs its storage at its price a month', () => {
    const { hourlyUsd, notes } = ofChannel({ storageGigabytes: 1_200 });
    expect(hourlyUsd).toBeCloseTo((1_200 * 0.14) / 730, 9);
    expect(notes).toEqual([
      'every cost includes fs-0123456789abcdef0: 1,200 GB, as declared and not read from AWS, for $0.23 an hour ($0.14 a GB-month, SCRATCH_2 in us-east-1 of 2026-11-26)',
    ]);
  });

  it('costs what the declaration says', () => {
    const { hourlyUsd } = ofChannel({ storageGigabytes: 1_200, usdPerGigabyteMonth: 0.6 });
    expect(hourlyUsd).toBeCloseTo((1_200 * 0.6) / 730, 9);
  });

  it('is unknown without a size, and not zero', () => {
    expect(ofChannel({}).notes).toEqual([
      'what fs-0123456789abcdef0 costs is not known, so no cost includes it: declare storageGigabytes of its channel',
    ]);
  });

  it('is refused with two sizes, which are named', () => {
    const { error } = trainingSchema.safeParse({
      strategy: 'ddp',
      channels: {
        images: { ...LUSTRE, storageGigabytes: 1_200 },
        labels: { ...LUSTRE, storageGigabytes: 2_400 },
      },
    });
    expect(error?.issues).toMatchObject([
      {
        path: ['channels', 'labels', 'storageGigabytes'],
        message:
          'is 2400 here and 1200 in channel images, of one file system (fs-0123456789abcdef0): declare it once',
      },
    ]);
  });

  it('is paid once for two channels', () => {
    const sized = { ...LUSTRE, storageGigabytes: 1_200 };
    const both = fileSystemsOf(trainingOf({ images: sized, labels: { ...LUSTRE, directory: '/abcd/b' } }));
    expect(both.hourlyUsd).toBeCloseTo(ofChannel({ storageGigabytes: 1_200 }).hourlyUsd, 9);
    expect(both.notes).toHaveLength(1);
  });

  it('is that of a size that FSx has', () => {
    const least = () => trainingOf({ images: { ...LUSTRE, storageGigabytes: 500 } });
    expect(least).toThrow('at least 1,200 GB');
    expect([1, 5e11, 2e12, 3e12].map(lustreGigabytesFor)).toEqual([1_200, 1_200, 2_400, 4_800]);
  });
});

/** A fast type that costs 2.2 times as much as a slow one of the same work. */
function placedWith(storageGigabytes?: number) {
  const { compute } = question();
  const input = question({
    compute: {
      ...compute,
      instanceTypes: ['g5.xlarge', 'g5.12xlarge'],
      nodes: 1,
      purchaseOption: 'on-demand',
    },
    training: trainingOf({ images: { ...LUSTRE, ...(storageGigabytes && { storageGigabytes }) } }),
    market: market({ onDemandPrices: [onDemand('g5.xlarge', 1), onDemand('g5.12xlarge', 6)] }),
    limits: { ...question().limits, valueOfTimeUsdPerHour: 0 },
  });
  return { input, placement: launched(choosePlacement(input)) };
}

describe('a choice', () => {
  it('keeps an expensive file system for less time', () => {
    expect(placedWith().placement.pool.instanceType).toBe('g5.xlarge');
    const { placement } = placedWith(72_000);
    expect(placement.pool.instanceType).toBe('g5.12xlarge');
    expect(placement.fileSystemsHourlyUsd).toBeCloseTo((72_000 * 0.14) / 730, 9);
    expect(placement.reason).toContain(
      'every cost includes fs-0123456789abcdef0: 72,000 GB, as declared and not read from AWS, for $13.81 an hour',
    );
    expect(placement.reason).toContain('an hour sooner is worth $0.00');
  });
});

it('a plan holds it in every figure', () => {
  const usdOf = ({ input, placement }: ReturnType<typeof placedWith>) => {
    const end = forecastRun({ input, standing: { kind: 'chosen', placement }, spentUsd: 0, seed: 'digits' });
    if (end === undefined) throw new Error('no end');
    return { ...end.usd, onDemand: end.onDemandUsd, hours: end.seconds.expected / 3_600 };
  };
  const [without, withIt] = [usdOf(placedWith()), usdOf(placedWith(1_200))];
  const hourlyUsd = (1_200 * 0.14) / 730;
  expect(withIt.expected - without.expected).toBeCloseTo(withIt.hours * hourlyUsd, 6);
  expect(withIt.low).toBeGreaterThan(without.low);
  expect(withIt.onDemand - without.onDemand).toBeCloseTo(withIt.hours * hourlyUsd, 1);
});

it('a report holds it from request to end', () => {
  const attempt = attemptOf('digits-000001', 1, {
    placement: placementOf({ fileSystemsHourlyUsd: 0.5 }),
    outcome: outcomeOf('completed', {
      endedAt: secondsAfter(7_200),
      trainingSeconds: 3_600,
      billableSeconds: 1_000,
    }),
  });
  const of = (placement: Placement) =>
    makeReport({
      run: runOf('digits', 1),
      attempts: [{ ...attempt, placement }],
      timeline: [],
      status: 'succeeded',
      finishedAt: secondsAfter(7_200),
    });
  const [report, without] = [of(attempt.placement), of(placementOf())];
  expect(report.fileSystemsUsd).toBeCloseTo(1, 9);
  expect(report.costUsd - without.costUsd).toBeCloseTo(1, 9);
  // On demand the same work takes the hour that it trained.
  expect(report.onDemandUsd - without.onDemandUsd).toBeCloseTo(0.5, 9);
  expect(without.fileSystemsUsd).toBeUndefined();
});
