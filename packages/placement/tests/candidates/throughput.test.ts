import { instanceFacts, trainingPrice } from '@tidewheel/catalog/catalog.ts';
import { describe, expect, it } from 'vitest';
import {
  adviseHelpers,
  forecastStep,
  helpersThatPay,
  type MeasuredSpeed,
  workloadOf,
} from '../../candidates/throughput.ts';

/** At the snapshot's prices, of the c5 family. */
function advised(measured: MeasuredSpeed) {
  const question = {
    ...measured,
    workload: workloadOf(measured),
    may: { maximumNodes: 64 },
    priceOf: (type: string) => trainingPrice(type, 'us-east-1')?.hourlyUsd,
    hardware: instanceFacts,
  };
  return {
    helpers: helpersThatPay(question),
    cheaperPercent: Number(/([0-9]+) % cheaper/.exec(adviseHelpers(question) ?? '')?.[1]),
    bottleneck: forecastStep(question.workload, measured).bottleneck,
  };
}

/** https://aws.amazon.com/blogs/machine-learning/improve-price-performance-of-your-model-training-using-amazon-sagemaker-heterogeneous-clusters/ */
const p4d: MeasuredSpeed = {
  instanceType: 'p4d.24xlarge',
  nodes: 1,
  stepSeconds: 0.192,
  acceleratorUse: 0.38,
  cpuUse: 0.93,
};

describe("AWS's heterogeneous benchmark", () => {
  it('is predicted within 20 % from its homogeneous row', () => {
    const helpers = [{ instanceType: 'c5.18xlarge', nodes: 2 }];
    const { stepSeconds } = forecastStep(workloadOf(p4d), {
      instanceType: 'p4d.24xlarge',
      nodes: 1,
      helpers,
    });
    expect(Math.abs(stepSeconds - 0.086) / 0.086).toBeLessThan(0.2);
  });

  it('gets helpers advised', () => {
    expect(advised(p4d).helpers?.instanceType).toMatch(/^c5\./);
    expect(advised(p4d).cheaperPercent).toBeGreaterThan(30);
  });
});

describe('a g5.xlarge that blurs every image ten times', () => {
  /** The publication names the types and the gain; how idle the accelerator was is our reading of "CPU-bound". */
  const blurring = (acceleratorUse: number): MeasuredSpeed => ({
    instanceType: 'g5.xlarge',
    nodes: 1,
    stepSeconds: 1,
    acceleratorUse,
    cpuUse: 0.99,
  });

  it.each([0.18, 0.2, 0.24])('with its accelerator %d busy gets one c5.4xlarge advised', (acceleratorUse) => {
    const { helpers, cheaperPercent } = advised(blurring(acceleratorUse));
    expect(helpers).toEqual({ instanceType: 'c5.4xlarge', nodes: 1 });
    expect(cheaperPercent).toBeGreaterThan(23);
  });

  it('gets none advised where the accelerator is the bottleneck', () => {
    const { helpers, bottleneck } = advised({ ...blurring(0.97), cpuUse: 0.6 });
    expect([helpers, bottleneck]).toEqual([undefined, 'accelerator']);
  });

  it('gets none advised where they cost more', () => {
    const { helpers, bottleneck } = advised({ ...blurring(0.93), cpuUse: 0.99 });
    expect([helpers, bottleneck]).toEqual([undefined, 'host']);
  });
});

describe('the network', () => {
  it('is the bottleneck for large gradients on slow links', () => {
    const heavy = workloadOf({
      ...p4d,
      instanceType: 'g5.xlarge',
      cpuUse: 0.3,
      acceleratorUse: 0.95,
      gradientBytes: 4e9,
    });
    const one = forecastStep(heavy, { instanceType: 'g5.xlarge', nodes: 1 });
    const four = forecastStep(heavy, { instanceType: 'g5.xlarge', nodes: 4 });
    expect(four.stepSeconds).toBeGreaterThan(one.stepSeconds);
  });
});

it('refuses an unknown type, with the remedy', () => {
  expect(() => workloadOf({ ...p4d, instanceType: 'x9.large' })).toThrow(
    'the catalog does not know x9.large',
  );
});

describe('a training on CPUs', () => {
  const measured: MeasuredSpeed = {
    instanceType: 'm5.xlarge',
    nodes: 1,
    stepSeconds: 1,
    acceleratorUse: 0,
    cpuUse: 1,
  };
  const on = (instanceType: string) => forecastStep(workloadOf(measured), { instanceType, nodes: 1 });

  it('takes as long again where it was measured', () => {
    expect(on('m5.xlarge').stepSeconds).toBeCloseTo(1, 9);
  });

  it('gains less than the vCPUs that are added', () => {
    const gain = on('m5.xlarge').stepSeconds / on('m5.24xlarge').stepSeconds;
    expect(gain).toBeGreaterThan(6);
    expect(gain).toBeLessThan(12);
  });

  it('is known the less the more vCPUs are added', () => {
    const spreads = ['m5.xlarge', 'm5.4xlarge', 'm5.24xlarge'].map((type) => on(type).uncertainty);
    expect(spreads).toEqual(spreads.toSorted((a, b) => a - b));
    expect(spreads.at(-1)).toBeGreaterThan(0.4);
  });
});
