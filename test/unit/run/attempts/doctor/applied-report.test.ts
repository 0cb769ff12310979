import { expect, it } from 'vitest';
import type { AttemptRecord } from '../../../../../functions/records/run-records.ts';
import { makeReport } from '../../../../../functions/run/attempts/make-report.ts';
import { AT, attemptOf, runOf } from '../../../../support/builders/records.ts';

const FAST_FILE = { kind: 'input-mode', inputMode: 'FastFile' } as const;

/** @param startSeconds until its script began; undefined: it never did */
function ended(attempt: number, startSeconds: number | undefined, over: Partial<AttemptRecord> = {}) {
  const speed = { stepSeconds: { median: 0.5 / attempt, p95: 1 }, cpuBusy: 1, seconds: 100, steps: 100 };
  const at = (seconds: number): string => new Date(Date.parse(AT) + seconds * 1_000).toISOString();
  return attemptOf('digits-000001', attempt, {
    diagnosis: { at: AT, speed, verdicts: [] },
    outcome: {
      kind: 'interrupted',
      message: '',
      startedAt: at(0),
      ...(startSeconds !== undefined && { scriptStartedAt: at(startSeconds) }),
      trainingSeconds: 100,
      billableSeconds: 100,
      interruptions: 0,
    },
    ...over,
  });
}

/** Of the last attempt. */
const broughtBy = (...attempts: readonly AttemptRecord[]) =>
  makeReport({
    run: runOf('digits', 1),
    attempts,
    timeline: [],
    status: 'succeeded',
    finishedAt: AT,
  }).attempts.at(-1)?.applied;

it('compares steps and starts with the attempt before', () => {
  const [first, second] = [ended(1, 36.8), ended(2, 20, { applied: [FAST_FILE] })];
  const report = broughtBy(first, second);
  expect(report?.changes).toEqual(['training.inputMode: FastFile']);
  expect(report?.measured).toMatchObject({
    besides: { jobName: first.jobName, startSeconds: 36.8 },
    startSeconds: 20,
    stepRatio: 2,
  });
});

it('says no start of a script that never began', () => {
  const [first, second] = [ended(1, undefined), ended(2, 20, { applied: [FAST_FILE] })];
  expect(broughtBy(first, second)?.measured).toMatchObject({
    besides: { startSeconds: undefined },
    startSeconds: 20,
  });
});

it('says nothing of an attempt without remedies', () => {
  expect(broughtBy(ended(1, 1))).toBeUndefined();
});
