import { describe, expect, it } from 'vitest';
import { nearest } from '../nearest.mjs';

describe('the nearest name', () => {
  const types = ['c5.xlarge', 'c5a.xlarge', 'c5.2xlarge', 'g5.xlarge', 'p4d.24xlarge'];

  it.each([
    ['c55.xlarge', 'c5.xlarge'],
    ['c5.xlrge', 'c5.xlarge'],
    ['p4d.24xlarg', 'p4d.24xlarge'],
    ['g5.xlareg', 'g5.xlarge'],
    ['p4d.', 'p4d.24xlarge'],
    ['c5.x', 'c5.xlarge'],
    ['c5a', undefined],
    ['foo.bar', undefined],
    ['', undefined],
  ])('of %j is %j', (name, near) => {
    expect(nearest(name, types)).toBe(near);
  });

  it('has two swapped letters as one change', () => {
    expect(nearest('wacth', ['watch', 'apply'])).toBe('watch');
    expect(nearest('sotp', ['stop', 'runs'])).toBe('stop');
    expect(nearest('tsop', ['watch'])).toBeUndefined();
  });
});
