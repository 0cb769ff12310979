import { catalogTypes, instanceFacts } from '@tidewheel/catalog/catalog.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { attempt, progress } from '../../../../test/support/builders/placement.ts';
import { forecastStep, workloadOf } from '../../candidates/throughput.ts';
import {
  type MeasuredThroughput,
  measuredThroughputs,
  throughputModel,
} from '../../candidates/throughput-estimate.ts';

const gang = (instanceType: string, nodes: number, acceleratorsPerNode = 1) => ({
  instanceType,
  nodes,
  acceleratorsPerNode,
});
const onT4: MeasuredThroughput = {
  instanceType: 'g4dn.xlarge',
  nodes: 1,
  stepSeconds: 1,
  steps: 10_000,
  acceleratorUse: 0.95,
  cpuUse: 0.4,
};

describe('before anything is measured', () => {
  const model = throughputModel(gang('g4dn.xlarge', 1), []);

  it('data sheets count, marked as no measurement', () => {
    const a100 = model.throughputOf(gang('p4d.24xlarge', 1, 8));
    expect(a100.basis).toBe('dataSheet');
    expect(a100.factor).toBeLessThan(model.throughputOf(gang('g5.xlarge', 1)).factor);
    expect(model.throughputOf(gang('g5.xlarge', 1)).factor).toBeLessThan(1);
    expect(a100.uncertainty).toBeGreaterThan(0.25);
  });

  it('names an accelerator of unknown speed', () => {
    const hardware = (type: string) => {
      const facts = instanceFacts(type);
      return type === 'g6.xlarge' && facts ? { ...facts, accelerator: 'X1' } : facts;
    };
    const known = throughputModel(gang('g4dn.xlarge', 1), [], [], hardware);
    const { unknown, uncertainty } = known.throughputOf(gang('g6.xlarge', 1));
    expect(unknown).toBe("the speed of X1 is not known, an A10G's is taken");
    expect(uncertainty).toBeGreaterThan(0.5);
    expect(known.throughputOf(gang('g5.xlarge', 1)).unknown).toBeUndefined();
  });

  it('is least sure of another sort of device', () => {
    const cpus = model.throughputOf(gang('c5.18xlarge', 1, 0));
    expect(cpus.factor).toBeGreaterThan(1);
    expect(cpus.uncertainty).toBeGreaterThan(model.throughputOf(gang('g5.xlarge', 1)).uncertainty);
  });
});

describe('what an attempt measured', () => {
  it('counts for its own topology, whatever data sheets say', () => {
    const onA10G: MeasuredThroughput = { ...onT4, instanceType: 'g5.xlarge', stepSeconds: 0.25 };
    const estimate = throughputModel(gang('g4dn.xlarge', 1), [onT4, onA10G]).throughputOf(
      gang('g5.xlarge', 1),
    );
    expect(estimate.factor).toBeCloseTo(0.25, 1);
    expect(estimate).toMatchObject({ basis: 'measured' });
    expect(estimate.uncertainty).toBeLessThan(0.03);
  });

  it('is believed less where it rests on few steps', () => {
    const few = throughputModel(gang('g4dn.xlarge', 1), [{ ...onT4, steps: 4 }]).throughputOf(
      gang('g5.xlarge', 1),
    );
    const many = throughputModel(gang('g4dn.xlarge', 1), [onT4]).throughputOf(gang('g5.xlarge', 1));
    expect(few.uncertainty).toBeGreaterThan(many.uncertainty);
    expect(many.basis).toBe('extrapolated');
  });

  it('shows that a saturated host gains nothing', () => {
    const hostBound = { ...onT4, acceleratorUse: 0.3, cpuUse: 0.99 };
    const model = throughputModel(gang('g4dn.xlarge', 1), [hostBound]);
    expect(model.throughputOf(gang('g5.xlarge', 1)).factor).toBeCloseTo(1, 1);
    expect(model.throughputOf(gang('g5.4xlarge', 1)).factor).toBeLessThan(0.4);
  });

  it('sizes the gradient by the checkpoint', () => {
    const light = throughputModel(gang('g5.xlarge', 1), [
      { ...onT4, instanceType: 'g5.xlarge', checkpointBytes: 3e7 },
    ]);
    const heavy = throughputModel(gang('g5.xlarge', 1), [
      { ...onT4, instanceType: 'g5.xlarge', checkpointBytes: 6e9 },
    ]);
    expect(heavy.throughputOf(gang('g5.xlarge', 4)).factor).toBeGreaterThan(1);
    expect(light.throughputOf(gang('g5.xlarge', 4)).factor).toBeLessThan(0.35);
  });

  it('is read from attempts that saved new work', () => {
    const pool = {
      instanceType: 'g5.xlarge',
      launcher: 'sagemaker' as const,
      purchaseOption: 'spot' as const,
    };
    const saved = attempt(
      1,
      pool,
      { kind: 'interrupted' },
      {
        progressBefore: progress(10, 100),
        progressAfter: {
          ...progress(40, 400),
          usage: { cpuPercent: 80, gpuPercent: 20 },
          checkpointBytes: 300,
        },
      },
    );
    const vain = attempt(
      2,
      pool,
      { kind: 'interrupted' },
      { progressBefore: progress(40, 400), progressAfter: progress(40, 400) },
    );
    expect(measuredThroughputs([saved, vain])).toEqual([
      {
        instanceType: 'g5.xlarge',
        nodes: 2,
        stepSeconds: 10,
        steps: 30,
        acceleratorUse: 0.2,
        cpuUse: 0.8,
        checkpointBytes: 300,
      },
    ]);
  });
});

describe('links between accelerators', () => {
  const heavy = workloadOf({
    instanceType: 'p4d.24xlarge',
    nodes: 1,
    stepSeconds: 0.2,
    acceleratorUse: 0.9,
    cpuUse: 0.3,
    gradientBytes: 4e9,
  });

  it('cost less with NVLink than over PCIe or network', () => {
    const excess = (instanceType: string, nodes: number) => {
      const choice = { instanceType, nodes };
      return (
        forecastStep(heavy, choice).stepSeconds -
        forecastStep({ ...heavy, gradientBytes: 0 }, choice).stepSeconds
      );
    };
    expect(excess('p4d.24xlarge', 1)).toBeLessThan(excess('g5.48xlarge', 1));
    expect(excess('p4d.24xlarge', 1)).toBeLessThan(excess('p4d.24xlarge', 2));
  });

  it('widen the interval the less is known', () => {
    const own = forecastStep(heavy, { instanceType: 'p4d.24xlarge', nodes: 1 });
    const other = forecastStep(heavy, { instanceType: 'p5.48xlarge', nodes: 1 });
    expect(other.uncertainty).toBeGreaterThan(own.uncertainty);
  });
});

it('treats an unknown type as equally fast', () => {
  expect(throughputModel(gang('g5.xlarge', 1), []).throughputOf(gang('x9.large', 1))).toMatchObject({
    factor: 1,
    basis: 'unknown',
  });
});

it('leaves out measurements beside unknown helper types', () => {
  const helped = { ...onT4, stepSeconds: 0.2, helpers: [{ instanceType: 'x9.large', nodes: 2 }] };
  const [without, withThem] = [[onT4], [onT4, helped]].map((measured) =>
    throughputModel(gang('g4dn.xlarge', 1), measured).throughputOf(gang('g5.xlarge', 1)),
  );
  expect(withThem).toEqual(without);
  expect(throughputModel(helped, [helped]).throughputOf(gang('g5.xlarge', 1))).toMatchObject({
    basis: 'unknown',
  });
});

it('has a throughput for every type and gang', () => {
  const use = fc.option(fc.oneof(fc.constantFrom(0, 1), fc.double({ min: 0, max: 1, noNaN: true })), {
    nil: undefined,
  });
  const type = fc.constantFrom(...catalogTypes());
  const nodes = fc.constantFrom(1, 2, 16);
  const measured = fc.record({
    instanceType: type,
    nodes,
    stepSeconds: fc.constantFrom(1e-6, 0.3, 4_000),
    steps: fc.constantFrom(1, 1e6),
    acceleratorUse: use,
    cpuUse: use,
    checkpointBytes: fc.option(fc.constantFrom(0, 1, 5e11), { nil: undefined }),
  });
  fc.assert(
    fc.property(fc.array(measured, { minLength: 1, maxLength: 3 }), type, nodes, (all, other, count) => {
      const [reference] = all;
      const model = throughputModel(reference, all);
      const { factor, uncertainty } = model.throughputOf(
        gang(other, count, instanceFacts(other)?.acceleratorCount ?? 0),
      );
      expect(factor).toBeGreaterThan(0);
      expect(factor).toBeLessThan(Number.POSITIVE_INFINITY);
      expect(uncertainty).toBeLessThan(2);
    }),
    { numRuns: 300 },
  );
});
