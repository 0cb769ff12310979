/** The snapshot, renewed by recorded answers of EC2. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RECORDED_TYPES } from '../../../test/support/recorded/instance-types.ts';
import efa from '../data/efa.json' with { type: 'json' };
import instances from '../data/instances.json' with { type: 'json' };
import { type InstanceTable, instanceTableText, refreshSnapshot } from '../facts/refresh-snapshot.ts';

const text = readFileSync(join(import.meta.dirname, '../data/instances.json'), 'utf8');
const table = instances as unknown as InstanceTable;
const efaTable = { source: efa.source, types: { ...efa.types }, firstCard: { ...efa.firstCard } };
const now = { source: 'EC2 DescribeInstanceTypes in us-east-1', asOf: '2026-12-01' };
const renewed = refreshSnapshot({ instances: table, efa: efaTable }, RECORDED_TYPES, now);
const cellOf = (type: string, name: string) =>
  renewed.instances.rows.find(([one]) => one === type)?.[instances.columns.indexOf(name)];

describe('a renewed snapshot', () => {
  it('is written as the snapshot is', () => {
    expect(instanceTableText(table)).toBe(text);
  });

  it('changes only what EC2 says differently', () => {
    expect(renewed.changes).toEqual([
      'c7i-flex.xlarge: ebsBaselineMbps 625 -> 650',
      'g9.48xlarge: no EFA interfaces -> 8',
    ]);
    expect(cellOf('c7i-flex.xlarge', 'ebsBaselineMbps')).toBe(650);
    expect(renewed.instances).toMatchObject({ asOf: '2026-12-01' });
    expect(renewed.instances.source).toMatch(/^EC2 DescribeInstanceTypes in us-east-1; before: /);
  });

  it('adds no row without a price', () => {
    expect(cellOf('g9.48xlarge', 'vcpu')).toBeUndefined();
    expect(renewed.efa.types['8']?.split(' ')).toContain('g9.48xlarge');
  });

  it('stays as it is where nothing changed', () => {
    const [p4d, b300] = RECORDED_TYPES;
    const same = refreshSnapshot({ instances: table, efa: efaTable }, [p4d, b300], now);
    expect(same).toEqual({ instances: table, efa: efaTable, changes: [] });
  });

  it('does not believe nonsense', () => {
    const [p4d] = RECORDED_TYPES;
    const wrong = { ...p4d, VCpuInfo: { DefaultVCpus: 1 } };
    const kept = refreshSnapshot({ instances: table, efa: efaTable }, [wrong], now);
    expect(kept.instances).toEqual(table);
    expect(kept.changes).toEqual([expect.stringMatching(/^p4d.24xlarge: not believed, vcpu is 1, and 96/)]);
  });
});
