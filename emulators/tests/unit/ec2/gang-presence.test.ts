/** When a virtual clock may go on under the hosts of a job. */
import { expect, it } from 'vitest';
import type { LocalClock } from '../../../clock/clock.ts';
import { type Doing, GangPresence } from '../../../ec2/gang-presence.ts';

function presence() {
  const holds = new Set<symbol>();
  const clock: LocalClock = {
    now: () => 0,
    at: () => () => undefined,
    hold: (why) => {
      const key = Symbol(why);
      holds.add(key);
      return () => holds.delete(key);
    },
  };
  return { gang: new GangPresence(clock, 'digits-000001-a1'), stands: () => holds.size > 0 };
}

it.each<[string, boolean, Doing[]]>([
  ['goes on while the only host boots', false, ['boots']],
  ['stands until its download sleeps', true, ['starts']],
  ['goes on while its download sleeps', false, ['sleeps']],
  ['stands while it works', true, ['works']],
  ['goes on for the one that boots later', false, ['starts', 'boots']],
  ['stands until all have begun their download', true, ['sleeps', 'starts']],
  ['goes on while one waits for the other', false, ['works', 'sleeps']],
  ['stands while one has its notice', true, ['ends', 'sleeps', 'boots']],
])('%s', (_, expected, doings) => {
  const { gang, stands } = presence();
  doings.forEach((doing, index) => gang.set(`i-${index}`, doing));
  expect(stands()).toBe(expected);
});

it('keeps a notice, and goes on without hosts', () => {
  const { gang, stands } = presence();
  gang.set('i-1', 'ends');
  gang.set('i-1', 'sleeps');
  expect(stands()).toBe(true);
  expect([gang.leave('i-1'), stands()]).toEqual([true, false]);
});
