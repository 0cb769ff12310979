import { describe, expect, it } from 'vitest';
import { beginning, durationOf, ending, inOrder, lineOf } from '../../../cli/show/run-log.ts';

const ATTEMPT = {
  attempt: 2,
  jobName: 'digits-000001-a2-0a1b2c',
  createdAt: '2026-11-23T10:00:00.000Z',
  placement: { pool: { instanceType: 'ml.g5.xlarge', zoneId: 'use1-az1' } },
};
const event = (timestamp: number, message: string, host = 'algo-1-1') => ({ timestamp, message, host });

describe('the log of a run', () => {
  it('marks where an attempt begins and ends', () => {
    expect(beginning(ATTEMPT)).toBe(
      '── attempt 2: digits-000001-a2-0a1b2c, ml.g5.xlarge in use1-az1, 2026-11-23T10:00:00.000Z ──',
    );
    expect(ending(ATTEMPT)).toBeUndefined();
    const outcome = { kind: 'interrupted', message: 'capacity was taken away\nmore' };
    expect(ending({ ...ATTEMPT, outcome })).toBe(
      '── attempt 2 ended (interrupted): capacity was taken away ──',
    );
    expect(ending({ ...ATTEMPT, outcome: { kind: 'completed', message: '' } })).toContain('completed');
  });

  it('orders lines by time and keeps equal ones', () => {
    const events = [event(3, 'c'), event(1, 'a', 'one'), event(1, 'b', 'two'), event(2, 'x')];
    expect(inOrder(events).map(({ message }) => message)).toEqual(['a', 'b', 'x', 'c']);
  });

  it('names the host where there are several', () => {
    expect(lineOf(event(0, 'text\n'), 1)).toBe('00:00:00 text');
    expect(lineOf(event(0, 'text'), 2)).toBe('00:00:00 algo-1-1 text');
  });

  it('lets no control character reach the terminal', () => {
    expect(lineOf(event(0, 'a\u001b[2Jb\rc\u009b1m\td'), 1)).toBe('00:00:00 a [2Jb c 1m\td');
  });

  it.each([
    ['90s', 90_000],
    ['15m', 900_000],
    ['2h', 7_200_000],
    ['1d', 86_400_000],
    ['15', undefined],
    ['-1m', undefined],
    ['', undefined],
  ])('reads the age %j', (text, milliseconds) => {
    expect(durationOf(text)).toBe(milliseconds);
  });
});
