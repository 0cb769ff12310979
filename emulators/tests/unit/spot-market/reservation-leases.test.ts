import { expect, it } from 'vitest';
import { wallClock } from '../../../clock/clock.ts';
import { makeReservations } from '../../../spot-market/model/reservations.ts';

const BLOCK = {
  id: 'cr-0123456789abcdef0',
  kind: 'capacity-block',
  instanceType: 'p5.48xlarge',
  zoneId: 'use1-az4',
  instances: 2,
  startsAt: new Date(0),
} as const;

function openBlock() {
  const reservations = makeReservations([BLOCK], wallClock);
  reservations.target('job-1', BLOCK.id);
  const market = reservations.beside({ acquire: () => undefined, onCapacity: () => () => undefined });
  const host = () =>
    market.acquire({
      owner: 'job-1',
      groups: [{ instanceType: BLOCK.instanceType, count: 1 }],
      purchaseOption: 'on-demand',
      instanceId: 'i-1',
    });
  return { reservations, host };
}

it('a launch that brings no instance takes nothing', () => {
  const { reservations } = openBlock();
  expect(reservations.admits(BLOCK.id, 2, 'token-1')).toBe(true);
  expect(reservations.free(BLOCK)).toBe(2);
  expect(reservations.admits(BLOCK.id, 2, 'token-2')).toBe(true);
});

it('a repeated token is admitted to a full reservation', () => {
  const { reservations, host } = openBlock();
  reservations.admits(BLOCK.id, 2, 'token-1');
  const leases = [host(), host()];
  expect(reservations.free(BLOCK)).toBe(0);
  expect(reservations.admits(BLOCK.id, 2, 'token-1')).toBe(true);
  expect(reservations.admits(BLOCK.id, 1, 'token-2')).toBe(false);
  expect(host()).toBeUndefined();
  for (const lease of leases) lease?.release();
  expect(reservations.free(BLOCK)).toBe(2);
});

it('one in a placement group takes its launches alone', () => {
  const reservations = makeReservations([{ ...BLOCK, placementGroup: 'ours' }], wallClock);
  reservations.target('job-1', BLOCK.id, 'ours');
  reservations.target('job-2', BLOCK.id, 'job-2');
  reservations.target('job-3', BLOCK.id);
  const admitted = ['job-1', 'job-2', 'job-3'].map((job) =>
    reservations.admits(reservations.targetOf(job) ?? '', 1),
  );
  expect(admitted).toEqual([true, false, false]);
});
