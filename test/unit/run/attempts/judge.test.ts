/** After an attempt: done, again elsewhere, or failed for good. */

import type { AttemptOutcome } from '@tidewheel/placement/records.ts';
import { describe, expect, it } from 'vitest';
import { advanced } from '../../../../functions/records/progress.ts';
import type { AttemptRecord, Resume } from '../../../../functions/records/run-records.ts';
import { judge } from '../../../../functions/run/attempts/judge-run.ts';
import { attemptOf, outcomeOf, progressOf } from '../../../support/builders/records.ts';

const RUN = 'digits-000001';

const ended = (
  kind: AttemptOutcome['kind'],
  steps: readonly [number | undefined, number | undefined] = [undefined, undefined],
  trainingSeconds = 600,
): AttemptRecord =>
  attemptOf(RUN, 1, {
    outcome: outcomeOf(kind, { trainingSeconds }),
    progressBefore: steps[0] === undefined ? undefined : progressOf(steps[0]),
    progressAfter: steps[1] === undefined ? undefined : progressOf(steps[1]),
  });

describe('an attempt that ended', () => {
  it.each([
    ['completed', 'done'],
    ['userError', 'failed'],
    ['stopped', 'failed'],
    ['interrupted', 'again'],
    ['capacity', 'again'],
    ['serviceError', 'again'],
  ] as const)('as %s leaves the run %s', (kind, expected) => {
    expect(judge([ended(kind)]).kind).toBe(expected);
  });

  it('at its time limit continues only with new progress', () => {
    expect(judge([ended('timeLimit', [10, 20])]).kind).toBe('again');
    expect(judge([ended('timeLimit', [undefined, 20])]).kind).toBe('again');
    expect(judge([ended('timeLimit', [20, 20])]).kind).toBe('failed');
    expect(judge([ended('timeLimit')]).kind).toBe('failed');
  });

  it('with a script error is final and quotes it', () => {
    const attempt = attemptOf(RUN, 1, {
      outcome: outcomeOf('userError', { message: 'AlgorithmError: ValueError: labels', trainingSeconds: 5 }),
    });
    const judgement = judge([attempt]);
    expect(judgement.kind).toBe('failed');
    expect(judgement.reason).toContain('ValueError: labels');
  });

  it('without an outcome fails with the reason', () => {
    expect(judge([attemptOf(RUN, 1)]).reason).toBe('the attempt left no outcome');
    expect(judge([]).kind).toBe('failed');
  });
});

describe('fruitless attempts', () => {
  const fruitless = ended('interrupted', [10, 10]);

  it('three in a row without progress end the run', () => {
    expect(judge([fruitless, fruitless]).kind).toBe('again');
    const judgement = judge([fruitless, fruitless, fruitless]);
    expect(judgement.kind).toBe('failed');
    expect(judgement.reason).toContain('TIDEWHEEL_CHECKPOINT_DIR');
  });

  it('are not those that never had capacity', () => {
    const starved = ended('capacity', [10, 10], 0);
    expect(judge([starved, starved, starved, starved, starved]).kind).toBe('again');
    expect(judge([fruitless, starved, fruitless, starved, fruitless]).kind).toBe('failed');
  });

  it('are forgiven by one that saved new work', () => {
    const fruitful = ended('interrupted', [10, 11]);
    expect(judge([fruitless, fruitless, fruitful]).kind).toBe('again');
    expect(judge([fruitless, fruitful, fruitless, fruitless]).kind).toBe('again');
  });

  it('are those that began again, however far they came', () => {
    const again = (step: number, over: Partial<Resume> = {}): AttemptRecord => ({
      ...ended('interrupted', [step, step + 20]),
      resume: {
        checkpoint: { name: 'last.ckpt', step },
        repairs: [],
        verdict: { kind: 'beganAgain', evidence: 'log', position: 0, beganAt: 0 },
        ...over,
      },
    });
    const first = ended('interrupted', [undefined, 20]);
    expect(judge([first, again(20), again(40)]).kind).toBe('again');
    const { kind, reason } = judge([first, again(20), again(40), again(60)]);
    expect(kind).toBe('failed');
    expect(reason).toContain('last.ckpt is there: pass ckpt_path');
    const nothingKnown = again(60, { verdict: undefined });
    expect(judge([first, again(20), again(40), nothingKnown]).kind).toBe('again');
  });

  it('are not those that go on from unknown files', () => {
    const wentOn = (position: number): AttemptRecord => ({
      ...ended('interrupted'),
      resume: { repairs: [], verdict: { kind: 'resumed', evidence: 'log', position, beganAt: position } },
    });
    const first = ended('interrupted');
    expect(judge([first, wentOn(30), wentOn(60)]).kind).toBe('again');
    expect(judge([first, wentOn(30), wentOn(30), wentOn(30), wentOn(30)]).kind).toBe('failed');
  });

  it('count whatever took them away', () => {
    expect(judge([ended('serviceError', [5, 5]), fruitless, ended('serviceError')]).kind).toBe('failed');
  });
});

describe('faults of the platform', () => {
  const faulty = (fault: AttemptOutcome['fault'], message = 'last words'): AttemptRecord =>
    attemptOf(RUN, 1, { outcome: outcomeOf('serviceError', { trainingSeconds: 900, fault, message }) });
  const refused = ended('capacity', [undefined, undefined], 0);

  it('end the run when hosts were silent twice', () => {
    expect(judge([faulty('silent')]).kind).toBe('again');
    const { kind, reason } = judge([faulty('silent'), refused, faulty('silent', 'no python')]);
    expect(kind).toBe('failed');
    expect(reason).toMatch(
      /NAT gateway or a VPC endpoint.*compute\.ec2\.image.*compute\.ec2\.python.*no python$/,
    );
  });

  it.each([
    ['storage', 'instance profile'],
    ['disk', 'compute.volumeGigabytes'],
    ['packages', 'training.packageIndex'],
  ] as const)('of kind %s end the run after three tries', (fault, remedy) => {
    expect(judge([faulty(fault), faulty(fault)]).kind).toBe('again');
    expect(judge([faulty(fault), faulty('silent'), faulty(fault)])).toMatchObject({
      kind: 'failed',
      reason: expect.stringContaining(remedy),
    });
  });

  it('are forgiven by an attempt that trained', () => {
    expect(judge([faulty('silent'), ended('interrupted', [0, 5]), faulty('silent')]).kind).toBe('again');
  });
});

describe('progress', () => {
  it('is a step that was not proven before', () => {
    expect(advanced(undefined, undefined)).toBe(false);
    expect(advanced(undefined, progressOf(0))).toBe(true);
    expect(advanced(progressOf(0), progressOf(0))).toBe(false);
    expect(advanced(undefined, progressOf(1))).toBe(true);
    expect(advanced(progressOf(5), progressOf(5))).toBe(false);
    expect(advanced(progressOf(5), progressOf(4))).toBe(false);
    expect(advanced(progressOf(5), undefined)).toBe(false);
    expect(advanced(progressOf(5), progressOf(6))).toBe(true);
  });
});
