import { catalogTypes, instanceFacts } from '@tidewheel/catalog/catalog.ts';
import { acceleratorSpeed } from '@tidewheel/catalog/speeds.ts';
import { trainingType } from '@tidewheel/declaration/instance-types.ts';
import { ACCELERATOR_KINDS, computeSchema, trainingSchema } from '@tidewheel/declaration/pipeline.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import accelerators from '../../../catalog/data/accelerators.json' with { type: 'json' };
import { gangsOf, topologiesOf, typesOf } from '../../candidates/topologies.ts';

const computeOf = (needs: object, more: object = {}) => computeSchema.parse({ needs, ...more });
const ask = (needs: object, more: Partial<Parameters<typeof topologiesOf>[0]> = {}) =>
  topologiesOf({ compute: computeOf(needs), region: 'us-east-1', ...more });
const names = (needs: object) =>
  ask(needs).topologies.map(({ nodes, instanceType }) => `${nodes} x ${instanceType}`);

describe('eight accelerators with 20 GB each', () => {
  it('are one node, several, or eight with one each', () => {
    const found = names({ accelerators: 8, acceleratorMemoryGigabytes: 20, kinds: ['A10G', 'L4'] });
    expect(found).toContain('1 x g5.48xlarge');
    expect(found).toContain('2 x g5.12xlarge');
    expect(found).toContain('8 x g6.xlarge');
    expect(found.every((name) => /x g[56]\./.test(name))).toBe(true);
  });

  it('leave out unfit types, each with its reason', () => {
    const { ruledOut } = ask({ accelerators: 8, acceleratorMemoryGigabytes: 20, maximumNodes: 4 });
    const reason = (type: string) => ruledOut.find(({ topology }) => topology.instanceType === type)?.reason;
    expect(reason('g4dn.xlarge')).toBe('its T4 has 16 GB, compute.needs asks for 20');
    expect(reason('g5.xlarge')).toBe('it takes 8 nodes, compute.needs.maximumNodes is 4');
    const all = ask({ accelerators: 8, kinds: ['T4'] });
    expect(all.ruledOut.map(({ reason: why }) => why)).toContain('SageMaker does not train on g4dn.metal');
  });

  it('do not fit where their memory is unknown', () => {
    const hardware = (type: string) => {
      const facts = instanceFacts(type);
      return facts && { ...facts, acceleratorMemoryMib: undefined };
    };
    const needs = { accelerators: 8, acceleratorMemoryGigabytes: 20, kinds: ['A10G'] };
    const { topologies, ruledOut } = ask(needs, { hardware });
    expect(topologies).toEqual([]);
    expect(ruledOut[0]?.reason).toBe(
      'how much memory its A10G has is not known, and compute.needs asks for 20 GB',
    );
  });

  it('run on Trainium only when the pipeline names it', () => {
    expect(names({ accelerators: 16 }).some((name) => name.includes('trn1'))).toBe(false);
    expect(names({ accelerators: 16, kinds: ['Trainium'] })).toEqual(['1 x trn1.32xlarge']);
  });
});

it('keeps the topology of its checkpoint by default', () => {
  const savedOn = { instanceType: 'g5.12xlarge', nodes: 1, acceleratorsPerNode: 4 };
  const kept = ask({ accelerators: 4, kinds: ['A10G', 'T4'] }, { savedOn });
  expect(new Set(kept.topologies.map(({ nodes }) => nodes))).toEqual(new Set([1]));
  expect(kept.ruledOut.some(({ reason }) => reason.includes('the checkpoint is of 1 x 4'))).toBe(true);
  const free = ask({ accelerators: 4, kinds: ['A10G', 'T4'], resumeOnOtherTopology: true }, { savedOn });
  expect(new Set(free.topologies.map(({ nodes }) => nodes))).toEqual(new Set([1, 4]));
});

it('runs single on one node, with an existing image', () => {
  const training = (more: object) => trainingSchema.parse({ strategy: 'single', ...more });
  const one = ask({ accelerators: 1, kinds: ['A10G'] }, { training: training({}) });
  expect(one.topologies.length).toBeGreaterThan(3);
  expect(ask({ accelerators: 4, kinds: ['A10G'] }, { training: training({}) }).ruledOut).toContainEqual({
    topology: { instanceType: 'g5.xlarge', nodes: 4, acceleratorsPerNode: 1 },
    reason: 'training.strategy single runs on one node',
  });
  const neuron = ask(
    { accelerators: 1, kinds: ['Trainium'] },
    { training: training({ framework: 'tensorflow', frameworkVersion: '2.19' }) },
  );
  expect(neuron.topologies).toEqual([]);
  expect(neuron.ruledOut[0]?.reason).toContain('neuron');
});

it('runs on V100 where the image supports it', () => {
  const on = (frameworkVersion: string) =>
    ask(
      { accelerators: 1, kinds: ['V100'] },
      { training: trainingSchema.parse({ strategy: 'ddp', frameworkVersion }) },
    );
  expect(on('2.8').topologies.map(({ instanceType }) => instanceType)).toContain('p3.2xlarge');
  expect(on('2.13').topologies).toEqual([]);
  expect(on('2.13').ruledOut).toContainEqual({
    topology: { instanceType: 'p3.2xlarge', nodes: 1, acceleratorsPerNode: 1 },
    reason: expect.stringContaining('CUDA 13, which needs compute capability 7.5, and V100 has 7.0'),
  });
});

it('trains a small model on CPUs where allowed', () => {
  expect(names({ accelerators: 1, kinds: ['T4'] }).some((name) => name.includes('c5'))).toBe(false);
  const both = names({ accelerators: 1, kinds: ['T4'], cpuInstead: true, vcpus: 16, maximumNodes: 4 });
  expect(both).toContain('1 x g4dn.4xlarge');
  expect(both).toContain('4 x c5.4xlarge');
  expect(both).not.toContain('1 x c5.2xlarge');
  expect(names({ accelerators: 0, maximumNodes: 1 }).every((name) => /^1 x [cmr]\d/.test(name))).toBe(true);
});

it('asks the market once for each gang size', () => {
  const gangs = gangsOf(computeOf({ accelerators: 4, kinds: ['A10G', 'L4'] }));
  expect(new Set(gangs.map(({ nodes }) => nodes))).toEqual(new Set([1, 4]));
  expect(gangsOf(computeSchema.parse({ instanceTypes: ['g5.xlarge', 'g6.xlarge'], nodes: 3 }))).toEqual([
    { nodes: 3, instanceTypes: ['g5.xlarge', 'g6.xlarge'] },
  ]);
});

const kindsOrNone = fc.option(fc.uniqueArray(fc.constantFrom(...ACCELERATOR_KINDS), { minLength: 1 }), {
  nil: undefined,
});

it('gives what is required, and nothing that lacks it', () => {
  fc.assert(
    fc.property(
      fc.record({
        // Numbers that types come in, and kinds that fit the requirements, so that most draws find something.
        accelerators: fc.oneof(fc.constantFrom(1, 2, 4, 8, 16), fc.integer({ min: 1, max: 64 })),
        kinds: kindsOrNone,
        acceleratorMemoryGigabytes: fc.option(fc.constantFrom(1, 16, 24, 40, 80, 160), { nil: undefined }),
        memoryGigabytes: fc.option(fc.constantFrom(1, 16, 64, 2_000), { nil: undefined }),
        maximumNodes: fc.integer({ min: 1, max: 64 }),
      }),
      (needs) => {
        const { topologies, ruledOut } = ask(needs);
        for (const { instanceType, nodes, acceleratorsPerNode } of topologies) {
          const facts = instanceFacts(instanceType);
          expect(nodes * acceleratorsPerNode).toBe(needs.accelerators);
          expect(nodes).toBeLessThanOrEqual(needs.maximumNodes);
          expect(needs.kinds ?? [facts?.accelerator]).toContain(facts?.accelerator);
          expect(facts?.memoryGib).toBeGreaterThanOrEqual(needs.memoryGigabytes ?? 0);
          expect(trainingType(instanceType)).toBeDefined();
        }
        const both = [...topologies, ...ruledOut.map(({ topology }) => topology)].map(
          ({ instanceType }) => instanceType,
        );
        expect(new Set(both).size).toBe(both.length);
      },
    ),
    { numRuns: 300 },
  );
});

it('knows a speed for every accelerator of the catalog', () => {
  expect(new Set(accelerators.rows.map(([kind]) => kind))).toEqual(new Set(ACCELERATOR_KINDS));
  for (const type of catalogTypes()) {
    const { accelerator, acceleratorMemoryMib } = instanceFacts(type) ?? {};
    expect(
      accelerator === undefined ? 1 : acceleratorSpeed(accelerator, acceleratorMemoryMib),
    ).toBeGreaterThan(0);
  }
});

describe('a declaration', () => {
  const problems = (compute: object) =>
    computeSchema
      .safeParse(compute)
      .error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);

  it('names types or needs, and one number of nodes', () => {
    expect(problems({})?.[0]).toContain('instanceTypes: name the types that may be used');
    expect(problems({ needs: { accelerators: 8 }, nodes: 2 })?.[0]).toContain('maximumNodes bounds it');
    expect(typesOf(computeOf({ accelerators: 1 }, { instanceTypes: ['g5.xlarge'] }))).toEqual(['g5.xlarge']);
  });

  it('asks for nothing that contradicts itself', () => {
    expect(problems({ needs: { accelerators: 2, acceleratorsPerNode: 4 } })?.[0]).toContain('lower it');
    expect(problems({ needs: { accelerators: 0, kinds: ['T4'] } })?.[0]).toContain(
      'says nothing without accelerators',
    );
    expect(
      problems({ instanceTypes: ['g5.xlarge'], launcher: 'ec2', regions: [{ name: 'us-west-2' }] })?.[0],
    ).toContain('let SageMaker launch');
    expect(
      problems({
        instanceTypes: ['g5.xlarge'],
        regions: [{ name: 'us-west-2' }, { name: 'us-west-2' }],
      })?.[0],
    ).toContain('once');
  });
});
