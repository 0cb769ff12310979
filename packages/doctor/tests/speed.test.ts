/** The speed of an attempt: a run of minutes is not slower for where its points begin. */
import type { EvidencePoint } from '@tidewheel/contract/evidence.ts';
import { expect, it } from 'vitest';
import { evidenceOf } from '../../../test/support/builders/evidence.ts';
import { speedOf } from '../rules/speed.ts';

const { points, ...evidence } = evidenceOf([{ type: 'g5.xlarge', stepSeconds: 0.1 }]);

/** Points that come every 10.2 s, with these steps each. */
const rateOf = (steps: readonly number[]): number | undefined =>
  speedOf({
    ...evidence,
    points: steps.flatMap((count, place): EvidencePoint[] => {
      const [point] = points;
      if (point === undefined) return [];
      return [{ ...point, at: new Date(1e12 + place * 10_200).toISOString(), steps: count }];
    }),
  })?.samplesPerSecond;

const FULL = [102, 102, 102, 102, 102];

it.each([
  ['whole points', FULL],
  ['little in the first point', [4, ...FULL]],
  ['little in the last, and an end without steps', [...FULL, 20, 0]],
  ['both', [4, ...FULL, 20, 0]],
])('counts the same samples a second with %s', (_, steps) => {
  expect(rateOf(steps)).toBeCloseTo(640);
});

it('counts a pause between steps', () => {
  expect(rateOf([102, 102, 0, 102, 102, 102])).toBeCloseTo(480);
});

it('counts all of few points', () => {
  expect(rateOf([102, 51])).toBeCloseTo(480);
});
