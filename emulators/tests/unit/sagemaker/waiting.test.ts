/** The wait in line for On-Demand. */
import { expect, it } from 'vitest';
import type { LocalClock } from '../../../clock/clock.ts';
import { withPendingQueue } from '../../../sagemaker/jobs/pending-queue.ts';
import type {
  CapacityLease,
  CapacityMarket,
  CapacityRequest,
} from '../../../spot-market/model/capacity-source.ts';

const lease: CapacityLease = {
  zoneId: 'use1-az1',
  onReclaim: () => undefined,
  checkpointSynced: () => undefined,
  release: () => undefined,
};
const market: CapacityMarket = { acquire: () => lease, onCapacity: () => () => undefined };
const request = (owner: string, purchaseOption: CapacityRequest['purchaseOption']): CapacityRequest => ({
  owner,
  groups: [{ instanceType: 'p4d.24xlarge', count: 1 }],
  purchaseOption,
});

function steppedClock() {
  let now = 0;
  let timers: { readonly at: number; readonly action: () => void }[] = [];
  const clock: LocalClock = {
    now: () => now,
    at: (at, action) => {
      timers.push({ at, action });
      return () => undefined;
    },
    hold: () => () => undefined,
  };
  const go = (to: number) => {
    now = to;
    const due = timers.filter(({ at }) => at <= to);
    timers = timers.filter(({ at }) => at > to);
    for (const { action } of due) action();
  };
  return { clock, go };
}

it('gives On-Demand capacity after the wait, once', () => {
  const { clock, go } = steppedClock();
  const queue = withPendingQueue(market, clock, () => 600);
  const got: number[] = [];
  const ask = () => queue.acquire(request('job', 'on-demand')) !== undefined && got.push(clock.now());
  ask();
  const unsubscribe = queue.onCapacity(ask);
  go(599_999);
  ask();
  expect(got).toEqual([]);
  go(600_000);
  expect(got).toEqual([600_000]);
  unsubscribe();
  // Who comes back stands at the end of the line again.
  expect(queue.acquire(request('job', 'on-demand'))).toBeUndefined();
});

it('lets Spot pass', () => {
  const queue = withPendingQueue(market, steppedClock().clock, () => 600);
  expect(queue.acquire(request('job', 'spot'))).toBe(lease);
});
