/** What tests take for answers of EC2 has the shape of EC2's model. */
import { describe, expect, it } from 'vitest';
import { RECORDED_TYPES } from '../support/recorded/instance-types.ts';
import { loadModel } from './botocore.ts';

interface Shape {
  readonly type: string;
  readonly enum?: readonly string[];
  readonly member?: { readonly shape: string };
  readonly members?: Readonly<Record<string, { readonly shape: string }>>;
}
const { shapes } = loadModel('ec2/2016-11-15') as unknown as {
  readonly shapes: Readonly<Record<string, Shape>>;
};

/** Paths at which a value is not of its shape. */
function foreign(value: unknown, name: string, path: string): string[] {
  const shape = shapes[name];
  if (shape?.type === 'list' && Array.isArray(value))
    return value.flatMap((each, index) => foreign(each, shape.member?.shape ?? '', `${path}[${index}]`));
  if (shape?.type === 'structure' && typeof value === 'object' && value !== null)
    return Object.entries(value).flatMap(([key, each]) => {
      const member = shape.members?.[key];
      return member === undefined ? [`${path}.${key}`] : foreign(each, member.shape, `${path}.${key}`);
    });
  const isOfType = { string: 'string', boolean: 'boolean' }[shape?.type ?? ''] ?? 'number';
  return typeof value === isOfType ? [] : [path];
}

describe('recorded instance types', () => {
  it.each(RECORDED_TYPES)('have the shape of the model: $InstanceType', (entry) => {
    expect(foreign(entry, 'InstanceTypeInfo', entry.InstanceType)).toEqual([]);
  });

  it('would not have with a wrong field', () => {
    const wrong = { ...RECORDED_TYPES[0], NetworkInfo: { EfaCount: 4, EfaSupported: 'yes' } };
    expect(foreign(wrong, 'InstanceTypeInfo', 'x')).toEqual([
      'x.NetworkInfo.EfaCount',
      'x.NetworkInfo.EfaSupported',
    ]);
  });
});
