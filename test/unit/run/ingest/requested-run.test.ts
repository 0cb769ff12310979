/** What a person asked for meets the close of the batch, once, whatever dies or is lost between the two. */

import { runPartsOf } from '@tidewheel/declaration/pipeline.ts';
import { InvalidPipelineError, TransientError } from '@tidewheel/kit/errors.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { keptClose } from '../../../../functions/records/record-copies.ts';
import type { RunRequest } from '../../../../functions/records/run-records.ts';
import { requestRun } from '../../../../functions/run/ingest/request-run.ts';
import { restoreRuns } from '../../../../functions/run/ingest/restore-runs.ts';
import { settleRun } from '../../../../functions/run/ingest/settle-run.ts';
import { wakeRun } from '../../../../functions/run/ingest/wake.ts';
import { declarationOf, requestOf } from '../../../support/builders/records.ts';
import { DECLARATION, type Ground, ground } from '../../../support/world/ground.ts';

const [FIRST, SECOND] = ['digits-000001', 'digits-000002'];
let at: Ground;
const now = () => at.clock.now().toISOString();

beforeEach(() => {
  at = ground();
  at.declare();
});

const withLr = (lr: number): Partial<RunRequest> => ({
  changed: ['training.hyperparameters.lr'],
  parts: runPartsOf(declarationOf('digits', { training: { strategy: 'ddp', hyperparameters: { lr } } })),
});
const request = (over: Partial<RunRequest> = {}) =>
  requestRun(at, { pipeline: 'digits', request: requestOf({ at: now(), ...over }) });
const lrOf = async (runId = FIRST) => (await at.runs.get(runId))?.declaration?.training.hyperparameters['lr'];
const settle = (runId = FIRST) => settleRun(at, { runId });
/** The process dies, or does something else, where it would close the batch. */
const atClose = async (act: () => Promise<void>) => {
  const closeBatch: Ground['runs']['closeBatch'] = async (run, close) => {
    await act();
    return at.runs.closeBatch(run, close);
  };
  return settleRun({ ...at, runs: { ...at.runs, closeBatch } }, { runId: FIRST });
};
const dies = () => Promise.reject(new Error('dead'));

describe('a request', () => {
  beforeEach(async () => {
    await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
    at.clock.advance(700);
  });

  it('during the close is not lost', async () => {
    await expect(atClose(async () => void (await request(withLr(0.3))))).rejects.toThrow(TransientError);
    expect(await settle()).toEqual({ kind: 'settled', trainAnyway: true, draws: false });
    expect(await lrOf()).toBe(0.3);
    expect(await keptClose(at.store, { pipeline: 'digits', runId: FIRST })).toMatchObject({
      trigger: 'api',
      request: { changed: ['training.hyperparameters.lr'] },
    });
  });

  it('behind a close that died is not lost', async () => {
    await expect(atClose(dies)).rejects.toThrow('dead');
    at.clock.advance(5);
    await request(withLr(0.3));
    await settle();
    expect(await lrOf()).toBe(0.3);
  });

  it('after the close is for the next run', async () => {
    await settle();
    expect(await request(withLr(0.3))).toEqual({ kind: 'started', runId: SECOND });
    expect(await lrOf()).toBeUndefined();
  });

  it('outlives the table from the close on', async () => {
    await request({ ...withLr(0.3), source: 'b'.repeat(64), tokens: ['once'] });
    await settle();
    at.lose();
    await restoreRuns(at, 'digits');
    expect(await at.runs.get(FIRST)).toMatchObject({ source: 'b'.repeat(64), trigger: 'api' });
    expect(await lrOf()).toBe(0.3);
    expect(await request({ tokens: ['once'] })).toEqual({ kind: 'running', runId: FIRST });
  });

  it('outlives the table where only the copy was written', async () => {
    await request(withLr(0.3));
    await expect(atClose(dies)).rejects.toThrow('dead');
    at.lose();
    await restoreRuns(at, 'digits');
    expect(await lrOf()).toBe(0.3);
  });

  it('that no longer fits the declaration fails the run', async () => {
    const split = `${DECLARATION}\npacking: { split: { train: 0.8, test: 0.2 } }`;
    const training = { strategy: 'ddp', environment: { TESTS: '${channel:test}' } };
    at.declare(split);
    await request({
      parts: runPartsOf(declarationOf('digits', { training, packing: { split: { train: 0.8, test: 0.2 } } })),
    });
    at.declare();
    await expect(settle()).rejects.toThrow(InvalidPipelineError);
    at.declare(split);
    expect(await settle()).toMatchObject({ kind: 'settled' });
  });
});

describe('the code of a run with changes', () => {
  it('is no news for the run behind it', async () => {
    await at.store.writeText('digits/source/train.py', 'print()');
    const settleNext = async (runId: string) => {
      at.clock.advance(700);
      const settled = await settle(runId);
      await at.runs.update(runId, { status: 'succeeded', updatedAt: now() });
      return settled;
    };
    await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
    await settleNext(FIRST);
    await request(withLr(0.3));
    await settleNext(SECOND);
    await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
    expect(await settleNext('digits-000003')).toEqual({ kind: 'settled', trainAnyway: false, draws: false });
  });
});
