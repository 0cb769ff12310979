/** Helper groups that placement adds by itself, where an attempt has measured that hosts set the pace. */
import { trainingPrice } from '@tidewheel/catalog/catalog.ts';
import { type Pipeline, pipelineSchema } from '@tidewheel/declaration/pipeline.ts';
import { describe, expect, it } from 'vitest';
import {
  attempt,
  hoursLater,
  launched,
  market,
  onDemand,
  progress,
  question,
} from '../../../../test/support/builders/placement.ts';
import { measuredThroughputs } from '../../candidates/throughput-estimate.ts';
import { choosePlacement } from '../../decision/choose.ts';
import type { PlacementInput } from '../../decision/situation.ts';

const base = question();
const TYPES = ['g5.xlarge', 'c5.4xlarge', 'c5.xlarge'];
const priced = market({
  spotPrices: [],
  onDemandPrices: TYPES.map((type) => onDemand(type, trainingPrice(type, 'us-east-1')?.hourlyUsd ?? 1)),
});
const compute = {
  ...base.compute,
  instanceTypes: ['g5.xlarge'],
  nodes: 1,
  vpc: undefined,
  purchaseOption: 'on-demand' as const,
  mayAddHelpers: { name: 'loaders', maximumNodes: 4 },
};

/** A first attempt without helpers, and what it measured. */
function after(
  usage: { cpuPercent: number; gpuPercent: number },
  change: Partial<PlacementInput> = {},
): PlacementInput {
  const first = attempt(
    1,
    { instanceType: 'g5.xlarge', launcher: 'sagemaker', purchaseOption: 'on-demand' },
    { kind: 'timeLimit', endedAt: hoursLater(0.5) },
  );
  const saved = { ...progress(20, 3_600), usage };
  const placement = { ...first.placement, topology: { nodes: 1, acceleratorsPerNode: 1 } };
  return question({
    compute,
    market: priced,
    attempts: [{ ...first, placement, progressAfter: saved }],
    progress: saved,
    ...change,
  });
}

const declared = (strategy: string, helping: object = {}): object => ({
  name: 'digits',
  training: { strategy },
  compute: { instanceTypes: ['g5.xlarge'], ...helping },
});

const placed = (input: PlacementInput) => launched(choosePlacement(input));

describe('a group of CPU nodes', () => {
  const hostBound = { cpuPercent: 99, gpuPercent: 20 };

  it('is added where hosts are the bottleneck', () => {
    const placement = placed(after(hostBound));
    expect(placement.topology.helpers).toEqual([{ name: 'loaders', instanceType: 'c5.4xlarge', nodes: 1 }]);
    expect(placement.helpersHourlyUsd).toBeCloseTo(trainingPrice('c5.4xlarge', 'us-east-1')?.hourlyUsd ?? 0);
    expect(placement.reason).toContain('1 x c5.4xlarge added');
    const [chosen, without] = placement.considered;
    expect(chosen?.expectedCostUsd).toBeLessThan((without?.expectedCostUsd ?? 0) * 0.85);
    expect(chosen?.expectedSeconds).toBeLessThan((without?.expectedSeconds ?? 0) / 2);
  });

  it('is not added for a busy accelerator, nor unmeasured', () => {
    expect(placed(after({ cpuPercent: 50, gpuPercent: 97 })).topology.helpers).toBeUndefined();
    expect(placed(question({ compute, market: priced })).topology.helpers).toBeUndefined();
  });

  it('is only mentioned where not allowed', () => {
    const { mayAddHelpers: _none, ...own } = compute;
    const placement = placed(after(hostBound, { compute: own }));
    expect(placement.topology.helpers).toBeUndefined();
    expect(placement.reason).toMatch(/hosts are the bottleneck: 1 x c5\.4xlarge.*see compute\.helpers/);
  });

  it('is mentioned only where every host prepares data', () => {
    const { mayAddHelpers: _none, ...own } = compute;
    const { training } = pipelineSchema.parse(declared('ddp'));
    const saidFor = (strategy: Pipeline['training']['strategy']): string =>
      placed(after(hostBound, { compute: own, training: { ...training, strategy } })).reason;
    expect(saidFor('ray')).toMatch(/cheaper \(\+-\d+ %\): see compute\.helpers/);
    expect(saidFor('ddp')).toMatch(/cheaper \(\+-\d+ %\) with strategy ray: see compute\.helpers/);
    expect(saidFor('data-service')).not.toContain('helpers');
  });

  it('keeps Spot out, unless the pipeline wants it tried', () => {
    const both = { ...compute, purchaseOption: 'spot-then-on-demand' as const };
    const rows = placed(after(hostBound, { compute: both })).considered;
    const helpedOnSpot = rows.find(
      ({ pool, topology }) => pool.purchaseOption === 'spot' && topology?.helpers,
    );
    expect(helpedOnSpot?.verdict).toContain('spotWithHelpers');
  });

  it('makes a topology with a throughput of its own', () => {
    const topology = {
      nodes: 1,
      acceleratorsPerNode: 1,
      helpers: [{ name: 'loaders', instanceType: 'c5.4xlarge', nodes: 1 }],
    };
    const [first] = after(hostBound).attempts;
    if (first === undefined) throw new Error('no attempt');
    const second = {
      ...first,
      attempt: 2,
      placement: { ...first.placement, topology },
      progressBefore: progress(20, 3_600),
      progressAfter: progress(60, 4_600),
    };
    expect(
      measuredThroughputs([first, second]).map(({ helpers, stepSeconds }) => [
        helpers?.length ?? 0,
        stepSeconds,
      ]),
    ).toEqual([
      [0, 180],
      [1, 25],
    ]);
    const placement = placed(after(hostBound, { attempts: [first, second], progress: second.progressAfter }));
    expect(placement.topology.helpers).toHaveLength(1);
    // 40 steps are left, at 25 s each, and a restart.
    expect(placement.considered[0]?.expectedSeconds).toBeLessThan(40 * 25 + 600);
  });
});

it('is for ray only', () => {
  expect(pipelineSchema.safeParse(declared('ray', { mayAddHelpers: {} })).success).toBe(true);
  expect(pipelineSchema.safeParse(declared('ddp', { mayAddHelpers: {} })).error?.issues[0]).toMatchObject({
    path: ['compute', 'mayAddHelpers'],
    message: expect.stringContaining('name them in compute.helpers'),
  });
});
