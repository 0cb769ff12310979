/** After an attempt: done, again elsewhere, or failed for good. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { AttemptOutcome } from '@tidewheel/placement/records.ts';
import { describe, expect, it } from 'vitest';
import { advanced } from '../../../../functions/records/progress.ts';
import type { AttemptRecord, Resume } from '../../../../functions/records/run-records.ts';
import { judgeRun } from '../../../../functions/run/attempts/judge-run.ts';
import { attemptOf, declarationOf, outcomeOf, progressOf, runOf } from '../../../support/builders/records.ts';
import { ground } from '../../../support/world/ground.ts';

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

/** What the run does next. @param attempts oldest first */
async function judged(attempts: readonly AttemptRecord[]) {
  const at = ground();
  await at.runs.create(runOf('digits', 1));
  for (const [index, { jobName: _, ...attempt }] of attempts.entries())
    await at.attempts.create({ ...attemptOf(RUN, index + 1), ...attempt, attempt: index + 1 });
  const next = await judgeRun(at, { runId: RUN });
  return { kind: next.kind, reason: 'reason' in next ? next.reason : '' };
}

describe('an attempt that ended', () => {
  it.each([
    ['completed', 'done'],
    ['userError', 'failed'],
    ['stopped', 'failed'],
    ['interrupted', 'place'],
    ['capacity', 'place'],
    ['serviceError', 'place'],
  ] as const)('as %s leaves the run %s', async (kind, expected) => {
    expect(await judged([ended(kind)])).toMatchObject({ kind: expected });
  });

  it('at its time limit continues only with new progress', async () => {
    expect(await judged([ended('timeLimit', [10, 20])])).toMatchObject({ kind: 'place' });
    expect(await judged([ended('timeLimit', [undefined, 20])])).toMatchObject({ kind: 'place' });
    expect(await judged([ended('timeLimit', [20, 20])])).toMatchObject({ kind: 'failed' });
    expect(await judged([ended('timeLimit')])).toMatchObject({ kind: 'failed' });
  });

  it('because its script hung goes on, and says so', async () => {
    const message = 'AlgorithmError: The script hung (no host computed or printed); step 20 is safe';
    const attempt = { ...ended('recalled', [10, 20]), outcome: outcomeOf('recalled', { message }) };
    expect(await judged([attempt])).toEqual({ kind: 'place', reason: message });
  });

  it('with a script error is final and quotes it', async () => {
    const attempt = attemptOf(RUN, 1, {
      outcome: outcomeOf('userError', { message: 'AlgorithmError: ValueError: labels', trainingSeconds: 5 }),
    });
    const judgement = await judged([attempt]);
    expect(judgement.kind).toBe('failed');
    expect(judgement.reason).toContain('ValueError: labels');
  });
});

it('an attempt lost in its evaluation leaves the model', async () => {
  const at = ground();
  const evaluated = declarationOf('digits', {
    evaluation: { entryPoint: 'evaluate.py' },
    packing: { split: { train: 0.9, validation: 0.1 } },
    training: { strategy: 'ddp', objective: { metric: 'accuracy', mode: 'max' } },
    promote: 'always',
  });
  await at.runs.create(runOf('digits', 1, { declaration: evaluated }));
  await at.attempts.create(attemptOf(RUN, 1, { outcome: outcomeOf('interrupted') }));
  const note = { version: 1, bytes: 5, digest: 'a'.repeat(64), evaluations: [] };
  at.store.put(bucketKeys.finished('digits', RUN, 1), JSON.stringify(note));
  expect(await judgeRun(at, { runId: RUN })).toMatchObject({ kind: 'place' });
  at.store.put(bucketKeys.finishedModel('digits', RUN, 1), 'half');
  expect(await judgeRun(at, { runId: RUN })).toMatchObject({ kind: 'place' });
  at.store.put(bucketKeys.finishedModel('digits', RUN, 1), 'whole');
  expect(await judgeRun(at, { runId: RUN })).toEqual({
    kind: 'done',
    reason: 'training completed; then its evaluation was lost: interrupted, said the service',
  });
  expect((await at.attempts.get(RUN, 1))?.outcome?.modelUri).toContain('attempt-1.tar.gz');
});

describe('fruitless attempts', () => {
  const fruitless = ended('interrupted', [10, 10]);

  it('three in a row without progress end the run', async () => {
    expect(await judged([fruitless, fruitless])).toMatchObject({ kind: 'place' });
    const judgement = await judged([fruitless, fruitless, fruitless]);
    expect(judgement.kind).toBe('failed');
    expect(judgement.reason).toContain('TIDEWHEEL_CHECKPOINT_DIR');
  });

  it('are not those that never had capacity', async () => {
    const starved = ended('capacity', [10, 10], 0);
    expect(await judged([starved, starved, starved, starved, starved])).toMatchObject({ kind: 'place' });
    expect(await judged([fruitless, starved, fruitless, starved, fruitless])).toMatchObject({
      kind: 'failed',
    });
  });

  it('are forgiven by one that saved new work', async () => {
    const fruitful = ended('interrupted', [10, 11]);
    expect(await judged([fruitless, fruitless, fruitful])).toMatchObject({ kind: 'place' });
    expect(await judged([fruitless, fruitful, fruitless, fruitless])).toMatchObject({ kind: 'place' });
  });

  it('are those that began again, however far they came', async () => {
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
    expect(await judged([first, again(20), again(40)])).toMatchObject({ kind: 'place' });
    const { kind, reason } = await judged([first, again(20), again(40), again(60)]);
    expect(kind).toBe('failed');
    expect(reason).toContain('last.ckpt is there: pass ckpt_path');
    const nothingKnown = again(60, { verdict: undefined });
    expect(await judged([first, again(20), again(40), nothingKnown])).toMatchObject({ kind: 'place' });
  });

  it('are not those that go on from unknown files', async () => {
    const wentOn = (position: number): AttemptRecord => ({
      ...ended('interrupted'),
      resume: { repairs: [], verdict: { kind: 'resumed', evidence: 'log', position, beganAt: position } },
    });
    const first = ended('interrupted');
    expect(await judged([first, wentOn(30), wentOn(60)])).toMatchObject({ kind: 'place' });
    expect(await judged([first, wentOn(30), wentOn(30), wentOn(30), wentOn(30)])).toMatchObject({
      kind: 'failed',
    });
  });

  it('are not those whose positions go on', async () => {
    const wentOn = (position: number): AttemptRecord => ({
      ...fruitless,
      resume: {
        checkpoint: { name: 'random_states_0.pkl', step: 0 },
        repairs: [],
        verdict: { kind: 'resumed', evidence: 'log', position, beganAt: 0 },
      },
    });
    expect(await judged([fruitless, wentOn(30), wentOn(60), wentOn(90)])).toMatchObject({ kind: 'place' });
    expect(await judged([fruitless, wentOn(30), wentOn(30), wentOn(30), wentOn(30)])).toMatchObject({
      kind: 'failed',
    });
  });

  it('are not those that read again what has grown', async () => {
    const read = (bytes: number, over: Partial<Resume> = {}): AttemptRecord => ({
      ...fruitless,
      resume: { repairs: [], read: [{ name: 'study.journal', bytes }], ...over },
    });
    expect(await judged([fruitless, read(100), read(200), read(300)])).toMatchObject({ kind: 'place' });
    expect(await judged([fruitless, read(100), read(100), read(100), read(100)])).toMatchObject({
      kind: 'failed',
    });
    const again = { verdict: { kind: 'beganAgain', evidence: 'log', position: 0, beganAt: 0 } } as const;
    expect(await judged([fruitless, read(100, again), read(200, again)])).toMatchObject({ kind: 'failed' });
  });

  it('count whatever took them away', async () => {
    expect(await judged([ended('serviceError', [5, 5]), fruitless, ended('serviceError')])).toMatchObject({
      kind: 'failed',
    });
  });
});

describe('faults of the platform', () => {
  const faulty = (fault: AttemptOutcome['fault'], message = 'last words'): AttemptRecord =>
    attemptOf(RUN, 1, { outcome: outcomeOf('serviceError', { trainingSeconds: 900, fault, message }) });
  const refused = ended('capacity', [undefined, undefined], 0);

  it('end the run when hosts were silent twice', async () => {
    expect(await judged([faulty('silent')])).toMatchObject({ kind: 'place' });
    const { kind, reason } = await judged([faulty('silent'), refused, faulty('silent', 'no python')]);
    expect(kind).toBe('failed');
    expect(reason).toMatch(
      /NAT gateway or a VPC endpoint.*compute\.ec2\.image.*compute\.ec2\.python.*no python$/,
    );
  });

  it.each([
    ['storage', 'instance profile'],
    ['disk', 'compute.volumeGigabytes'],
    ['packages', 'training.packageIndex'],
  ] as const)('of kind %s end the run after three tries', async (fault, remedy) => {
    expect(await judged([faulty(fault), faulty(fault)])).toMatchObject({ kind: 'place' });
    expect(await judged([faulty(fault), faulty('silent'), faulty(fault)])).toMatchObject({
      kind: 'failed',
      reason: expect.stringContaining(remedy),
    });
  });

  it.each([
    ['image', 'training.image'],
    ['network', 'compute.vpc'],
    ['refused', 'its words tell'],
  ] as const)('of kind %s end the run after two tries', async (fault, remedy) => {
    expect(await judged([faulty(fault)])).toMatchObject({ kind: 'place' });
    expect(await judged([faulty(fault), faulty(fault)])).toMatchObject({
      kind: 'failed',
      reason: expect.stringContaining(remedy),
    });
  });

  it('go on after broken hosts, but not for ever', async () => {
    const broken = faulty('hardware', 'Xid 79');
    expect(await judged([broken, broken])).toMatchObject({ kind: 'place' });
    expect(await judged([broken, broken, broken])).toMatchObject({
      kind: 'failed',
      reason: expect.stringMatching(/broken hosts.*Xid 79$/),
    });
  });

  it('of memory end the run with the remedy', async () => {
    expect(await judged([faulty('memory', 'use more')])).toMatchObject({
      kind: 'failed',
      reason: expect.stringMatching(/^the attempt ran out of memory: choose instance types.*; use more$/),
    });
  });

  it('are forgiven by an attempt that trained', async () => {
    expect(await judged([faulty('silent'), ended('interrupted', [0, 5]), faulty('silent')])).toMatchObject({
      kind: 'place',
    });
  });
});

describe('progress', () => {
  it('is a step that was not proven before', async () => {
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
