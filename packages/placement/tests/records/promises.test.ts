/** Intervals learn from what their pipeline's last runs were promised. */

import { seededUniform } from '@tidewheel/kit/seeded-random.ts';
import { expect, it } from 'vitest';
import { type Interval, type Miss, missOf, widened, widthsOf } from '../../records/placement-records.ts';

const HOUR = 3_600_000;

/** A pipeline whose ends spread so many times as far as is believed. @returns whether each of its promises held */
function promised(spread: number, runs: number, seed: number): readonly boolean[] {
  const draw = seededUniform(seed);
  const misses: Miss[] = [];
  return Array.from({ length: runs }, (_, k) => {
    const widths = widthsOf(misses.slice(-20));
    const z = Math.sqrt(-2 * Math.log(1 - draw())) * Math.cos(2 * Math.PI * draw());
    const happened = 100 + 10 * spread * z;
    const usd: Interval = widened({ low: 100 - 16.45, expected: 100, high: 100 + 16.45 }, widths.cost);
    const at = (hours: number): string => new Date(HOUR * hours).toISOString();
    const finishAt = { low: at(usd.low), expected: at(usd.expected), high: at(usd.high) };
    misses.push(missOf({ share: k, finishAt, usd, widths }, { finishedAt: at(happened), costUsd: happened }));
    return happened >= usd.low && happened <= usd.high;
  });
}

const held = (spread: number, from: number, to: number): number => {
  const all = Array.from({ length: 400 }, (_, seed) => promised(spread, to, seed).slice(from)).flat();
  return all.filter(Boolean).length / all.length;
};

it('right beliefs keep their intervals', () => {
  expect(held(1, 0, 1)).toBeGreaterThan(0.87);
  expect(held(1, 20, 40)).toBeGreaterThan(0.87);
});

it('beliefs wrong by two hold after 20 runs', () => {
  expect(held(2, 0, 1)).toBeLessThan(0.7);
  expect(held(2, 20, 40)).toBeGreaterThan(0.87);
});

it('intervals that are too wide become narrow', () => {
  const misses = Array.from({ length: 20 }, () => ({ share: 0, end: 0.1, cost: 0.1 }));
  expect(widthsOf(misses).end).toBeLessThan(0.9);
  expect(widthsOf([])).toEqual({ end: 1, cost: 1 });
});

it('no correction puts an end before now', () => {
  expect(widened({ low: 5, expected: 10, high: 20 }, 4)).toEqual({ low: 0.5, expected: 10, high: 50 });
});
