import { describe, expect, it } from 'vitest';
import { evidenceOf } from '../../../test/support/builders/evidence.ts';
import { ladderOf, type Rung } from '../rules/ladder.ts';

const verdictsOf = (rungs: readonly Rung[]) =>
  Object.fromEntries(rungs.map(({ rung, verdict }) => [rung, verdict]));

describe('the ladder', () => {
  it('asks first for one busy accelerator', () => {
    const rungs = ladderOf(evidenceOf([{ gpuBusy: 0.4, alternatives: ['c5.4xlarge', 'g5.12xlarge'] }]));
    expect(verdictsOf(rungs)).toMatchObject({ 'fill-one-accelerator': 'not-yet', 'more-nodes': 'not-yet' });
  });

  it('weighs a larger node where the exchange shows', () => {
    const host = { shares: { compute: 0.4, exchange: 0.6 }, alternatives: ['g5.12xlarge'] };
    const rungs = ladderOf(evidenceOf([host, host, host, host]));
    expect(verdictsOf(rungs)).toMatchObject({ 'larger-node': 'pays', 'more-nodes': 'does-not-pay' });
  });

  it('proposes CPUs for a model with little work', () => {
    const rungs = ladderOf(
      evidenceOf([{ type: 'p3.2xlarge', gpuBusy: 0.0005, alternatives: ['c5.4xlarge'] }]),
    );
    expect(verdictsOf(rungs)).toMatchObject({ cpu: 'pays' });
  });

  it.each([
    [0.9, 'does-not-pay'],
    [0.2, 'unknown'],
  ])('judges CPUs by an accelerator that is filled: %s', (gpuBusy, cpu) => {
    const shares = { compute: 1 };
    const rungs = ladderOf(
      evidenceOf([{ type: 'p3.2xlarge', gpuBusy, shares, alternatives: ['c5.4xlarge'] }]),
    );
    expect(verdictsOf(rungs)).toMatchObject({ cpu });
  });

  it('is empty before there are steps', () => {
    expect(ladderOf(evidenceOf([]))).toEqual([]);
  });
});
