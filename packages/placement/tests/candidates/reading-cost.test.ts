/** Disk, memory and network in the forecast of a step, and in the choice that follows. */

import { type InstanceFacts, instanceFacts } from '@tidewheel/catalog/catalog.ts';
import type { HostReading } from '@tidewheel/doctor/verdict.ts';
import { describe, expect, it } from 'vitest';
import {
  attempt,
  launched,
  market,
  onDemand,
  progress,
  question,
} from '../../../../test/support/builders/placement.ts';
import {
  describeReading,
  forecastStep,
  readingCost,
  secondsWithoutBurst,
  workloadOf,
} from '../../candidates/throughput.ts';
import { choosePlacement } from '../../decision/choose.ts';
import { situationOf } from '../../decision/situation.ts';

const facts = (type: string): InstanceFacts => {
  const known = instanceFacts(type);
  if (known === undefined) throw new Error(type);
  return known;
};
/** 100 GB, of which the 61 GiB of a p3.2xlarge cache about 60 %. */
const FILE: HostReading = { inputMode: 'File', bytesPerStep: 5e8, dataBytes: 1e11, processBytes: 5e9 };
const STREAM: HostReading = { ...FILE, inputMode: 'FastFile' };

describe('what memory does not hold', () => {
  it('comes from EBS at the baseline of the type', () => {
    const { diskSeconds } = readingCost(FILE, 1, facts('p3.2xlarge'));
    const missing = 1 - (61 * 2 ** 30 - 5e9) / 1e11;
    expect(diskSeconds).toBeCloseTo((missing * 5e8) / (1750 * 125e3), 5);
  });

  it('comes from NVMe where the type has it', () => {
    const slow = readingCost(FILE, 1, { ...facts('g4dn.xlarge'), nvmeGb: 0 });
    expect(readingCost(FILE, 1, facts('g4dn.xlarge')).diskSeconds).toBeLessThan(slow.diskSeconds / 3);
  });

  it('is nothing where memory holds all', () => {
    expect(readingCost({ ...FILE, dataBytes: 5e10 }, 1, facts('p3.2xlarge')).diskSeconds).toBe(0);
  });
});

it('a stream takes its share of the baseline', () => {
  expect(readingCost(STREAM, 0.5, facts('g5.xlarge'))).toEqual({
    diskSeconds: 0,
    networkSeconds: 2.5e8 / (2.5 * 125e6),
  });
});

it('the table names memory, disk or network', () => {
  expect([
    describeReading({ ...FILE, dataBytes: 5e10 }, facts('p3.2xlarge')),
    describeReading(FILE, facts('p3.2xlarge')),
    describeReading(FILE, facts('g4dn.xlarge')),
    describeReading(STREAM, facts('g5.xlarge')),
  ]).toEqual([
    'its memory holds the 50 GB of data',
    'EBS reads 40 % of the data, which its memory does not hold, at 219 MB a second',
    'its NVMe reads 88 % of the data, which its memory does not hold, at an assumed 700 MB a second',
    'streams its data at a baseline of 313 MB a second',
  ]);
});

it('a disk of unknown rate is assumed, not infinite', () => {
  const unknown = { ...facts('p3.2xlarge'), ebsBaselineMbps: undefined };
  expect(describeReading(FILE, unknown)).toMatch(/^EBS reads 40 % .* at an assumed 131 MB a second$/);
  const on = { instanceType: 'p3.2xlarge', nodes: 1 };
  const asked = workloadOf({ ...on, stepSeconds: 1, acceleratorUse: 0.2, cpuUse: 0.3, reading: FILE });
  const [known, assumed] = [forecastStep(asked, on), forecastStep(asked, on, () => unknown)];
  expect(assumed.stepSeconds).toBeGreaterThan(known.stepSeconds);
  expect(assumed.uncertainty).toBeGreaterThan(known.uncertainty);
});

describe('a burst', () => {
  const later = (stepSeconds: number, type = 'g5.xlarge', reading = STREAM): number | undefined =>
    secondsWithoutBurst(reading, stepSeconds, facts(type));

  it('that brought the bytes ends at the baseline', () => {
    expect(later(0.5)).toBeCloseTo(5e8 / (2.5 * 125e6), 5);
  });

  it('is none where the baseline brings as much', () => {
    expect(later(1.6)).toBeUndefined();
  });

  it('of EBS counts, of local NVMe nothing is known', () => {
    expect(later(0.5, 'p3.2xlarge', FILE)).toBeGreaterThan(0.5);
    expect(later(0.01, 'g4dn.xlarge', FILE)).toBeUndefined();
  });
});

it('the disk is the bottleneck of a step', () => {
  const measured = { instanceType: 'p3.2xlarge', nodes: 1, stepSeconds: 1, acceleratorUse: 0.2, cpuUse: 0.3 };
  const on = { instanceType: 'p3.2xlarge', nodes: 1 };
  expect(forecastStep(workloadOf({ ...measured, reading: FILE }), on).bottleneck).toBe('disk');
  expect(forecastStep(workloadOf(measured), on).bottleneck).toBe('host');
});

/** An attempt that streams 500 MB a step, and whose accelerator was busy all the time. */
function streamedOn(
  instanceType: string,
  { stepSeconds, steps, totalSteps = 10_000 }: { stepSeconds: number; steps: number; totalSteps?: number },
) {
  const { compute } = question();
  const pool = { launcher: 'sagemaker', purchaseOption: 'on-demand' } as const;
  const seconds = steps * stepSeconds;
  const trained = attempt(
    1,
    { ...pool, instanceType },
    { kind: 'serviceError', trainingSeconds: seconds, billableSeconds: seconds },
  );
  const after = { ...progress(steps, seconds), totalSteps, usage: { gpuPercent: 98, cpuPercent: 20 } };
  const types = ['g5.xlarge', 'g5.4xlarge'];
  const diagnosis = { at: trained.updatedAt, isFinal: true, reading: STREAM, verdicts: [] };
  return question({
    compute: { ...compute, instanceTypes: types, purchaseOption: 'on-demand' },
    market: market({ spotPrices: [], onDemandPrices: types.map((type) => onDemand(type, 1.25)) }),
    attempts: [{ ...trained, progressAfter: after, diagnosis }],
    progress: after,
  });
}

/** An attempt on a V100 whose accelerator waits for EBS, and a T4 with NVMe that costs as much. */
function placedAfter(reading: HostReading | undefined) {
  const types = ['p3.2xlarge', 'g4dn.xlarge'];
  const { compute, training } = question();
  const pool = { launcher: 'sagemaker', purchaseOption: 'on-demand' } as const;
  const trained = attempt(
    1,
    { ...pool, instanceType: 'p3.2xlarge' },
    { kind: 'serviceError', trainingSeconds: 1_000, billableSeconds: 1_000 },
  );
  const after = { ...progress(500, 1_000), totalSteps: 10_000, usage: { gpuPercent: 20, cpuPercent: 30 } };
  const decision = choosePlacement(
    question({
      compute: { ...compute, instanceTypes: types, purchaseOption: 'on-demand', volumeGigabytes: 200 },
      training: { ...training, frameworkVersion: '2.8.0' },
      market: market({ spotPrices: [], onDemandPrices: types.map((type) => onDemand(type, 1.25)) }),
      attempts: [
        {
          ...trained,
          progressAfter: after,
          diagnosis: { reading },
        },
      ],
      progress: after,
    }),
  );
  return launched(decision);
}

it('a type wins for its disk and says so', () => {
  expect(placedAfter(undefined).pool.instanceType).toBe('p3.2xlarge');
  const { pool, considered } = placedAfter({ ...FILE, bytesPerStep: 1e9 });
  expect(pool.instanceType).toBe('g4dn.xlarge');
  expect(considered[0]?.verdict).toMatch(/^chosen .*its NVMe reads 88 % of the data/);
  expect(considered.map(({ verdict }) => verdict).join('\n')).toContain('EBS reads 40 % of the data');
});

it('a long training leaves its burst', () => {
  const { attempts, ...asked } = streamedOn('g5.xlarge', { stepSeconds: 0.5, steps: 1_000 });
  const situation = situationOf({ ...asked, attempts });
  // 9,000 steps are left, at 500 MB each and 2.5 Gbit/s.
  expect(situation.work).toMatchObject({ basis: 'measured', workSeconds: 9_000 * 1.6 });
  const faster = situation.candidates.find(({ pool }) => pool.instanceType === 'g5.4xlarge');
  expect(faster?.throughput.factor).toBeCloseTo(0.5 / 1.6, 1);
  const own = situation.candidates.find(({ pool }) => pool.instanceType === 'g5.xlarge');
  expect(own?.throughput.reading).toBe(
    'streams its data at a baseline of 313 MB a second, and was measured in a burst: a step takes 1.60 s once it ends, not 0.50 s',
  );
});

it('a short training ends within the burst', () => {
  const asked = streamedOn('g5.xlarge', { stepSeconds: 0.5, steps: 400, totalSteps: 500 });
  // 200 s trained, so 100 s of the burst are left, and the work needs 50.
  expect(situationOf(asked).work.workSeconds).toBe(50);
});
