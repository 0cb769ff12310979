import { trainingPrice } from '@tidewheel/catalog/catalog.ts';
import { describe, expect, it } from 'vitest';
import { bestSingleNode } from '../../../../functions/run/attempts/single-node.ts';
import { placementOf } from '../../../support/builders/records.ts';

const HOUR = 3_600;
const priceOf = (type: string): number => trainingPrice(type, 'us-east-1')?.hourlyUsd ?? Number.NaN;

function workOn(instanceType: string, nodes: number, acceleratorsPerNode: number, seconds = HOUR) {
  const pool = { ...placementOf().pool, instanceType };
  const topology = { nodes, acceleratorsPerNode };
  return { placement: placementOf({ pool, topology, onDemandHourlyUsd: priceOf(instanceType) }), seconds };
}

describe('the best single node', () => {
  it('has the accelerators of all nodes', () => {
    const best = bestSingleNode([workOn('g5.xlarge', 4, 1)]);
    expect(best).toMatchObject({ instanceType: 'g5.12xlarge', accelerators: 4, hours: 1 });
    expect(best?.usd).toBeCloseTo(priceOf('g5.12xlarge'), 6);
  });

  it('says nothing where one node trained', () => {
    expect(bestSingleNode([workOn('g5.xlarge', 1, 1)])).toBeUndefined();
  });

  it('must have done every attempt', () => {
    expect(bestSingleNode([workOn('g5.xlarge', 2, 1), workOn('g4dn.xlarge', 2, 1)])).toBeUndefined();
  });

  it('does not exist for 64 accelerators', () => {
    expect(bestSingleNode([workOn('g5.xlarge', 64, 1)])).toBeUndefined();
  });

  it('is none without useful work', () => {
    expect(bestSingleNode([workOn('g5.xlarge', 1, 1, 0)])).toBeUndefined();
  });
});
