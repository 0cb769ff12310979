import type { Change, Verdict } from '@tidewheel/doctor/verdict.ts';
import { describe, expect, it } from 'vitest';
import type { AttemptRecord } from '../../../functions/records/run-records.ts';
import { raisedDisk, safeRemedies, withRemedies } from '../../../functions/records/safe-remedies.ts';
import { AT, attemptOf, declarationOf, placementOf, runOf } from '../../support/builders/records.ts';
import { memoryStores } from '../../support/fakes/stores.ts';

const TYPES = ['g5.xlarge', 'g5.2xlarge'];
const declaration = declarationOf('digits', { doctor: { apply: 'safe' }, compute: { instanceTypes: TYPES } });
const FILE = { kind: 'input-mode', inputMode: 'File' } as const;
const LARGER = { kind: 'instance-type', type: 'g5.2xlarge' } as const;

const chosen = (history: readonly AttemptRecord[]) =>
  safeRemedies(memoryStores(), runOf('digits', 1, { declaration }), history);

function verdictOf(change: Change, low = 1): Verdict {
  const gain = { low, expected: 2, high: 3 };
  const remedy = { change, where: 'declaration', text: '' } as const;
  return {
    cause: 'network',
    evidence: {},
    remedy,
    gain: { seconds: gain, dollars: gain },
    also: [],
    unknown: [],
    next: undefined,
  };
}

function measured(
  verdicts: readonly Verdict[],
  over: Partial<AttemptRecord> & { step?: number } = {},
): AttemptRecord {
  const { step = 1, ...rest } = over;
  const speed = { stepSeconds: { median: step, p95: step }, cpuBusy: 1, seconds: 100, steps: 100 };
  return attemptOf('digits-000001', 1, { diagnosis: { at: AT, speed, verdicts }, ...rest });
}

describe('the next attempt takes', () => {
  it('the remedy that cannot change the result', async () => {
    expect(await chosen([measured([verdictOf(FILE)])])).toEqual([FILE]);
  });

  it('nothing that may cost more than it brings', async () => {
    expect(await chosen([measured([verdictOf(FILE, -1)])])).toEqual([]);
  });

  it('no remedy of another kind', async () => {
    expect(await chosen([measured([verdictOf({ kind: 'compress-exchange' })])])).toEqual([]);
  });

  it('a declared type with the same accelerators', async () => {
    const history = [measured([verdictOf(LARGER), verdictOf({ ...LARGER, type: 'g5.4xlarge' })])];
    expect(await chosen(history)).toEqual([LARGER]);
  });

  it('no type that found no capacity', async () => {
    const outcome = {
      kind: 'capacity',
      message: '',
      trainingSeconds: 0,
      billableSeconds: 0,
      interruptions: 0,
    } as const;
    const placement = placementOf({ pool: { ...placementOf().pool, instanceType: 'g5.2xlarge' } });
    const history = [measured([verdictOf(LARGER)]), attemptOf('digits-000001', 2, { placement, outcome })];
    expect(await chosen(history)).toEqual([]);
  });

  it('what helped before, and each kind once', async () => {
    const history = [
      measured([verdictOf(FILE)]),
      measured([verdictOf({ ...FILE, inputMode: 'FastFile' })], { applied: [FILE], step: 0.5 }),
    ];
    expect(await chosen(history)).toEqual([FILE]);
  });

  it('back what made steps slower', async () => {
    const history = [measured([verdictOf(FILE)]), measured([], { applied: [FILE], step: 2 })];
    expect(await chosen(history)).toEqual([]);
  });
});

it('changes the fields that the remedies name', () => {
  const changed = withRemedies(declaration, [FILE, LARGER]);
  expect(changed.training.inputMode).toBe('File');
  expect(changed.compute.instanceTypes).toEqual(['g5.2xlarge']);
});

describe('after a full disk', () => {
  const full = attemptOf('digits-000001', 1, {
    outcome: {
      kind: 'serviceError',
      fault: 'disk',
      message: 'ENOSPC',
      trainingSeconds: 60,
      billableSeconds: 60,
      interruptions: 0,
    },
  });
  const on = (instanceType: string, launcher: 'sagemaker' | 'ec2') => {
    const placement = placementOf();
    return { ...placement, pool: { ...placement.pool, instanceType, launcher } };
  };

  it('the next attempts get a larger volume, once', () => {
    const own = declarationOf('digits', { compute: { instanceTypes: TYPES, volumeGigabytes: 200 } });
    const raised = raisedDisk(own, [full], on('c5.xlarge', 'sagemaker'));
    expect(raised).toEqual([{ kind: 'volume', gigabytes: 400 }]);
    expect(raisedDisk(own, [full, { ...full, applied: raised }], on('c5.xlarge', 'ec2'))).toEqual(raised);
    expect(withRemedies(own, raised).compute.volumeGigabytes).toBe(400);
  });

  it('a type whose NVMe is its disk gets none', () => {
    expect(raisedDisk(declaration, [full], on('g5.xlarge', 'sagemaker'))).toEqual([]);
    expect(raisedDisk(declaration, [full], on('g5.xlarge', 'ec2'))).toHaveLength(1);
  });

  it('another loss raises nothing', () => {
    expect(raisedDisk(declaration, [measured([])], on('c5.xlarge', 'ec2'))).toEqual([]);
  });
});
