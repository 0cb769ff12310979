import { describe, expect, it } from 'vitest';
import { checkpointStall, type StallQuestion } from '../../../../functions/run/attempts/watch-attempt.ts';
import { progressOf } from '../../../support/builders/records.ts';

const at = (seconds: number) => new Date(Date.UTC(2026, 10, 21) + seconds * 1_000);
const saved = (seconds: number, step = 40) => progressOf(step, { updatedAt: at(seconds).toISOString() });
const question = (over: Partial<StallQuestion>): StallQuestion => ({
  trainingSince: at(0),
  progress: saved(1_000),
  intervalSeconds: 600,
  now: at(1_000),
  ...over,
});

describe('a stall of checkpoints', () => {
  it('is three intervals without a new checkpoint', () => {
    expect(checkpointStall(question({ now: at(2_799) }))).toBeUndefined();
    expect(checkpointStall(question({ now: at(2_800) }))).toEqual({
      step: 40,
      ageSeconds: 1_800,
      expectedSeconds: 600,
    });
  });

  it('is never less than a quarter of an hour', () => {
    expect(checkpointStall(question({ intervalSeconds: 30, now: at(1_899) }))).toBeUndefined();
    expect(checkpointStall(question({ intervalSeconds: 30, now: at(1_900) }))?.ageSeconds).toBe(900);
  });

  it("counts from the start of this attempt's training", () => {
    const resumed = { trainingSince: at(100_000), now: at(101_000) };
    expect(checkpointStall(question(resumed))).toBeUndefined();
    expect(checkpointStall(question({ ...resumed, now: at(101_800) }))).toMatchObject({ ageSeconds: 1_800 });
  });

  it('leaves half an hour for the first checkpoint', () => {
    expect(checkpointStall(question({ progress: undefined, now: at(1_799) }))).toBeUndefined();
    expect(checkpointStall(question({ progress: undefined, now: at(1_800) }))).toMatchObject({ step: 0 });
  });

  it('is none while the job does not train', () => {
    expect(checkpointStall(question({ trainingSince: undefined, now: at(1e6) }))).toBeUndefined();
  });

  it('takes a date that is none for no checkpoint', () => {
    const progress = progressOf(40, { updatedAt: 'yesterday' });
    expect(checkpointStall(question({ progress, now: at(1_800) }))).toMatchObject({ ageSeconds: 1_800 });
  });
});
