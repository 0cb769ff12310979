import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startMarketTime } from '../../../spot-market/model/market-time.ts';

beforeEach(() => vi.useFakeTimers({ now: 1_000_000 }));
afterEach(() => vi.useRealTimers());

it('market time passes at its scale', () => {
  const time = startMarketTime(3_600);
  vi.advanceTimersByTime(2_000);
  expect(time.now()).toBe(7_200);
  expect(time.wallMs(3_600)).toBe(1_001_000);
  expect(time.marketSecond(1_001_000)).toBe(3_600);
});

it('calls back at the moment unless cancelled', () => {
  const time = startMarketTime(10);
  const called: number[] = [];
  time.at(50, () => called.push(time.now()));
  const callOff = time.at(60, () => called.push(-1));
  vi.advanceTimersByTime(4_999);
  expect(called).toEqual([]);
  callOff();
  vi.advanceTimersByTime(5_000);
  expect(called).toEqual([50]);
});

it('waits for no moment beyond a timer', () => {
  const called: number[] = [];
  startMarketTime().at(10 ** 9, () => called.push(1));
  vi.advanceTimersByTime(2 ** 31);
  expect(called).toEqual([]);
});
