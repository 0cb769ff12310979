/** Ranks of one host that compute on its CPUs, with more threads than there are cores for them. */
import { describe, expect, it } from 'vitest';
import { evidenceOf, type Means } from '../../../test/support/builders/evidence.ts';
import { diagnose } from '../rules/diagnose.ts';
import type { Evidence } from '../rules/evidence.ts';

const ON_CPUS = { type: 'c5.4xlarge', cpu: { main: 15, workers: 0, all: 15, threads: 64 }, processes: 4 };

function onCpus(means: Partial<Means> = {}): Evidence {
  const evidence = evidenceOf([{ ...ON_CPUS, ...means }]);
  return { ...evidence, points: evidence.points.map((point) => ({ ...point, gpu: null })) };
}

const topOf = (means?: Partial<Means>) => diagnose(onCpus(means))[0];

describe('threads that compute', () => {
  it('are too many where ranks crowd the cores', () => {
    expect(topOf()).toMatchObject({
      cause: 'too-many-threads',
      // Sixteen vCPUs of eight physical cores, for four ranks.
      remedy: { change: { kind: 'threads', threads: 2 }, where: 'declaration' },
      evidence: { physicalCores: 8, threadsPerCoreLeft: 4 },
    });
  });

  it('lose at least half at four for each core', () => {
    const { low, expected, high } = topOf()?.gain.seconds ?? { low: 0, expected: 0, high: 0 };
    expect(low / 2_000).toBeCloseTo(0.6);
    expect(expected / 2_000).toBeCloseTo(0.8);
    expect(high / 2_000).toBeCloseTo(1);
  });

  it.each([
    ['one process has them all', { processes: 1 }],
    ['each core has one', { cpu: { ...ON_CPUS.cpu, threads: 16 } }],
    ['nothing tells them', { cpu: { ...ON_CPUS.cpu, threads: null } }],
    ['the cores idle', { cpu: { main: 3, workers: 0.5, all: 3.5, threads: 64 } }],
    ['it sleeps while others compute', { cpu: { main: 0.2, workers: 0, all: 15.5, threads: 64 } }],
  ])('are not too many where %s', (_, means) => {
    expect(topOf(means)?.cause).toBe('nothing-wrong');
  });

  it('of one process are too many beside busy workers', () => {
    const cpu = { main: 6, workers: 10, all: 16, threads: 16 };
    expect(topOf({ processes: 1, cpu })).toMatchObject({
      cause: 'too-many-threads',
      remedy: { change: { threads: 6 } },
    });
  });

  it('are left alone where an accelerator computes', () => {
    expect(diagnose(evidenceOf([{ ...ON_CPUS, gpuBusy: 0.95 }]))[0]?.cause).toBe('nothing-wrong');
  });
});
