import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Exclusion } from '../documents/rejections.ts';
import { Exclusions } from '../seal/exclusions.ts';

const reason = fc.constantFrom('tooLarge', 'sampleIncomplete', 'imageDamaged', 'changed', 'sampleDeferred');
const exclusion = fc.record({
  sample: fc.integer({ min: 0, max: 499 }),
  outcome: fc.constantFrom('rejected', 'deferred'),
  members: fc.uniqueArray(fc.record({ key: fc.string({ maxLength: 3 }), reason }), {
    selector: ({ key }) => key,
    maxLength: 4,
  }),
});

describe('samples that are in no shard', () => {
  it('have the outcome and reasons of a Map', () => {
    fc.assert(
      fc.property(fc.uniqueArray(exclusion, { selector: ({ sample }) => sample }), (all) => {
        const held = new Exclusions(500);
        const model = new Map<number, Exclusion>();
        for (const one of all) {
          held.add(one);
          model.set(one.sample, one);
        }
        for (let sample = 0; sample < 500; sample += 1) {
          const [found, expected] = [held.of(sample), model.get(sample)];
          expect(found?.outcome).toBe(expected?.outcome);
          for (const { key, reason: why } of expected?.members ?? [])
            expect(found?.causeOf(key)?.reason).toBe(why);
        }
      }),
    );
  });
});
