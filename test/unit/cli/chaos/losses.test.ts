/** The arithmetic behind the table of `npm start -- --chaos`, and the order of its faults. */
import { describe, expect, it } from 'vitest';
import { CHAOS_FAULTS, plannedFault } from '../../../../cli/chaos/faults.ts';
import { chaosLines, type Losses, lossesOf, type StepMade } from '../../../../cli/chaos/losses.ts';

/** Steps of one stay, a second each, the first of them at `from` seconds. */
const stay = (name: string, from: number, first: number, last: number): StepMade[] =>
  Array.from({ length: last - first + 1 }, (_, index) => ({
    at: (from + index) * 1_000,
    stay: name,
    step: first + index,
  }));

const of = ({ byFault }: Losses, fault: string) => byFault.find((each) => each.fault === fault);
const FOREVER = Number.POSITIVE_INFINITY;
const EACH = { hosts: 4, kinds: CHAOS_FAULTS };

describe('what faults cost', () => {
  it('nothing is lost without faults', () => {
    expect(lossesOf([], stay('a', 0, 1, 11), FOREVER).trainedShare).toBe(1);
  });

  it('a step made again counts once', () => {
    // Step 11 was made at 10 s, lost at 10.5 s, and is made again at 14 s, as the first of the next stay.
    const made = [...stay('a', 0, 1, 11), ...stay('b', 14, 11, 17)];
    const losses = lossesOf([{ fault: 'kill', at: 10_500 }], made, FOREVER);
    // Of 20 s, 9 trained steps 2 to 10, and 6 trained 12 to 17.
    expect(losses.trainedShare).toBeCloseTo(15 / 20);
    expect(of(losses, 'kill')).toEqual({
      fault: 'kill',
      times: 1,
      stillSeconds: 3.5,
      longestSeconds: 3.5,
      // From 10.5 s to 20 s, without 6 s of training, and with the second that step 11 took the first time.
      lostSeconds: 4.5,
    });
  });

  it('a slow step counts as the usual one', () => {
    const made = [...stay('a', 0, 1, 6), { at: 15_000, stay: 'a', step: 7 }];
    const losses = lossesOf([{ fault: 'slow', at: 5_000 }], made, FOREVER);
    expect(of(losses, 'slow')).toMatchObject({ lostSeconds: 9, stillSeconds: 10 });
    expect(losses.trainedShare).toBeCloseTo(6 / 15);
  });

  it('leaves out what comes after the faults', () => {
    const made = [...stay('a', 0, 1, 11), ...stay('b', 20, 12, 100)];
    expect(lossesOf([{ fault: 'hang', at: 10_000 }], made, 20_000).trainedShare).toBeCloseTo(0.5);
  });

  it('a fault that no step followed has no time', () => {
    const losses = lossesOf([{ fault: 'disk', at: 9_500 }], stay('a', 0, 1, 11).slice(0, 10), FOREVER);
    expect(of(losses, 'disk')).toMatchObject({ times: 0, stillSeconds: undefined });
  });
});

describe('the faults of a seed', () => {
  it('take turns in all kinds', () => {
    const kinds = Array.from(
      { length: 2 * CHAOS_FAULTS.length },
      (_, index) => plannedFault(7, index, EACH).fault,
    );
    expect(new Set(kinds.slice(0, CHAOS_FAULTS.length)).size).toBe(CHAOS_FAULTS.length);
    expect(kinds.slice(CHAOS_FAULTS.length)).toEqual(kinds.slice(0, CHAOS_FAULTS.length));
  });

  it('befall hosts that exist, the same each time', () => {
    const planned = () => Array.from({ length: 60 }, (_, index) => plannedFault(3, index, EACH));
    expect(planned()).toEqual(planned());
    expect(new Set(planned().map(({ host }) => host))).toEqual(new Set([1, 2, 3, 4]));
    expect(
      planned()
        .filter(({ fault }) => fault === 'disk')
        .every(({ host }) => host === 1),
    ).toBe(true);
  });
});

it('the table says times, seconds, share and weights', () => {
  const made = [...stay('a', 0, 1, 11), ...stay('b', 14, 12, 18)];
  const text = chaosLines(lossesOf([{ fault: 'kill', at: 10_000 }], made, FOREVER), 'yes').join('\n');
  expect(text).toMatch(/kill +1 +4\.0 s +4\.0 s +4\.0 s/);
  expect(text).toMatch(/all +1 +4\.0 s/);
  expect(text).toContain('80.0 %');
  expect(text).toContain('weights equal: yes');
});
