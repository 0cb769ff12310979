/** Against the rules of https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html */
import { describe, expect, it } from 'vitest';
import { pastScheduleProblems, scheduleProblem } from '../schema/schedule.ts';

describe('a schedule', () => {
  it.each([
    'rate(1 day)',
    'rate(15 minutes)',
    'cron(0 3 * * ? *)',
    'cron(0/15 9-17 ? * MON-FRI 2026)',
    'cron(0 18 ? * mon-fri *)',
    'cron(*/5 * ? * * *)',
    'cron(0 8 1 * ? *)',
    'cron(15,45 0-6/2 L * ? *)',
    'cron(0 0 LW JAN,JUN ? 2026-2030)',
    'cron(0 0 15W * ? *)',
    'cron(0 10 ? * 6L 2026)',
    'cron(0 10 ? * TUE#2 *)',
    'cron(0 3 29 2 ? *)',
    'cron(0 3 31 1-12 ? *)',
    'cron(0 3 30,31 FEB,MAR ? *)',
  ])('may be %s', (schedule) => {
    expect(scheduleProblem(schedule)).toBeUndefined();
  });

  it.each([
    ['rate(1 days)', 'write rate(1 day): one has the singular'],
    ['rate(2 hour)', 'write rate(2 hours)'],
    ['rate(0 days)', 'write rate(1 day) or cron('],
    ['every day', 'write rate(1 day) or cron('],
    ['rate(5 bananas)', 'write rate(1 day) or cron('],
    ['at(2026-01-01T00:00:00)', 'write rate(1 day) or cron('],
    ['rate(1 day); drop', 'write rate(1 day) or cron('],
    ['cron(* *)', 'cron has six fields'],
    ['cron(99 3 * * ? *)', 'minutes is "99": write * or values from 0 to 59'],
    ['cron(0 24 * * ? *)', 'hours is "24"'],
    ['cron(0 3 * 13 ? *)', 'month is "13": write * or values from 1 to 12 or JAN to DEC'],
    ['cron(0 3 ? * 0 *)', 'day of week is "0": write * or values from 1 to 7 or SUN to SAT'],
    ['cron(0 3 ? * FRI-MON *)', 'day of week is "FRI-MON"'],
    ['cron(0 3 ? * MON#6 *)', 'day of week is "MON#6"'],
    ['cron(0 3 * * ? 1969)', 'year is "1969"'],
    ['cron(5/0 3 * * ? *)', 'minutes is "5/0"'],
    ['cron(1-2-3 3 * * ? *)', 'minutes is "1-2-3"'],
    ['cron(? 3 * * ? *)', 'minutes is "?", which only a day may be'],
    [
      'cron(0 3 * * ?)',
      'cron has six fields (minutes, hours, day of month, month, day of week, year), and 5',
    ],
    ['cron(0 3 * * * *)', 'exactly one of day of month and day of week must be ?'],
    ['cron(0 3 ? * ? *)', 'exactly one of day of month and day of week must be ?'],
    ['cron(0 3 31 2 ? *)', 'no month of 2 has a day 31, so it never comes'],
    ['cron(0 3 31 APR,JUN ? *)', 'no month of APR,JUN has a day 31'],
    ['cron(0 3 30-31 FEB ? *)', 'no month of FEB has a day 30-31'],
  ])('is refused: %s', (schedule, problem) => {
    expect(scheduleProblem(schedule)).toContain(problem);
  });
});

it('is refused when longer than Scheduler takes', () => {
  const many = `cron(0 3 30 ${Array(20_000).fill('2').join()} ? ${Array(20_000).fill('*').join()})`;
  expect(scheduleProblem(many)).toContain('80014 characters, and Scheduler takes 256');
  expect(scheduleProblem(`cron(${Array(85).fill('59').join()} * * * ? *)`)).toContain('characters');
});

describe('a schedule whose dates pass', () => {
  const NOW = new Date('2026-11-23T10:30:00Z');

  it.each([
    'rate(1 day)',
    'cron(0 3 * * ? *)',
    'cron(0 3 * * ? 2020,2027)',
    'cron(0 3 * * ? 2020/2)',
    'cron(0 3 31 * ? 2026)',
    'cron(30 10 23 11 ? 2026)',
    'cron(0 0-11 23 11 ? 2026)',
    // Which days of the week are left of a month is not counted.
    'cron(0 3 ? 11 MON 2026)',
    'cron(0 3 L 11 ? 2026)',
    'cron(0 3 1,L 11 ? 2026)',
    'cron(0 3 29 2 ? 2027,2028)',
  ])('has a date to come: %s', (schedule) => {
    expect(scheduleProblem(schedule)).toBeUndefined();
    expect(pastScheduleProblems({ schedule }, NOW)).toEqual([]);
  });

  it.each([
    'cron(0 3 * * ? 2020)',
    'cron(0 3 * * ? 1990-2025)',
    'cron(0 3 ? JAN-OCT MON 2026)',
    'cron(0 3 22 11 ? 2026)',
    'cron(29 10 23 11 ? 2026)',
    'cron(59 0-9 23 11 ? 2026)',
    // November has no 31st day.
    'cron(0 3 31 OCT,NOV ? 2026)',
  ])('has none left: %s', (schedule) => {
    expect(scheduleProblem(schedule)).toBeUndefined();
    const why = 'all of its dates are before 2026-11-23T10:30Z, so it starts no run';
    const message = `is "${schedule}": ${why}: write * for the year, or a later one`;
    expect(pastScheduleProblems({ schedule }, NOW)).toEqual([{ path: 'schedule', message }]);
  });

  it('has none at all in years without the day', () => {
    const [problem] = pastScheduleProblems({ schedule: 'cron(0 3 29 2 ? 2027)' }, NOW);
    expect(problem?.message).toContain('no year that it names has such a day');
  });
});
