import { familyOf } from '@tidewheel/declaration/instance-types.ts';
import { expect, it } from 'vitest';

it.each([
  ['g5.xlarge', 'g5'],
  ['p6-b200.48xlarge', 'p6-b200'],
  ['u7i-12tb.224xlarge', 'u7i-12tb'],
  ['metal', 'metal'],
  ['', ''],
])('the family of %j is %j', (instanceType, family) => {
  expect(familyOf(instanceType)).toBe(family);
});
