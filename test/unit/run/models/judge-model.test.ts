/** Models that are promoted by their scores: each end, and what is kept of it. */

import { bucketKeys, runIdOf, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import type { Promote } from '@tidewheel/declaration/pipeline.ts';
import { beforeEach, expect, it } from 'vitest';
import type { RunRecord } from '../../../../functions/records/run-records.ts';
import { modelsOf, recordModel } from '../../../../functions/run/models/decide-models.ts';
import { keepScores } from '../../../../functions/run/models/kept-scores.ts';
import { declarationOf, runOf } from '../../../support/builders/records.ts';
import { type Ground, ground } from '../../../support/world/ground.ts';

const PIPELINE = 'digits';
const RULE: Promote = { whenBetterBy: 0, confidence: 0.95 };
let at: Ground;
beforeEach(() => {
  at = ground();
});

/** So many of a hundred samples are right, from the first one on. */
const hundred = (right: number) =>
  Array.from({ length: 100 }, (_, k) =>
    JSON.stringify({ key: `a/${k}.png`, accuracy: Number(k < right) }),
  ).join('\n');

/** @param scores of its second attempt, which ended the run */
async function ended(batch: number, scores: string | undefined, promote: Promote = RULE): Promise<RunRecord> {
  const runId = runIdOf(PIPELINE, batch);
  const key = `${bucketKeys.models(PIPELINE, runId)}job/output/model.tar.gz`;
  const modelUri = s3Uri(at.store.bucket, key);
  at.store.put(key, `model ${batch}`);
  if (scores !== undefined) at.store.put(bucketKeys.attemptScores(PIPELINE, runId, 2), scores);
  const declared = declarationOf(PIPELINE);
  const objective = { metric: 'accuracy', mode: 'max' } as const;
  const declaration = { ...declared, promote, training: { ...declared.training, objective } };
  const run = runOf(PIPELINE, batch, { status: 'succeeded', modelUri, declaration });
  await at.runs.create(run);
  await keepScores(at.store, run, 2);
  await recordModel(at, run, modelUri);
  return run;
}

const modelOf = async (batch: number) =>
  (await modelsOf(at, PIPELINE)).known.models.find(({ runId }) => runId === runIdOf(PIPELINE, batch));

it('the first one with scores is in use', async () => {
  await ended(1, hundred(80));
  expect(await modelOf(1)).toMatchObject({ state: 'current', judged: { verdict: 'first', mean: 0.8 } });
});

it('a better one replaces it and says why', async () => {
  await ended(1, hundred(80));
  await ended(2, hundred(90));
  expect(await modelOf(2)).toMatchObject({
    state: 'current',
    judged: { verdict: 'better', against: 'digits-000001', pairs: 100, better: expect.closeTo(0.1) },
    reason: expect.stringContaining('accuracy 0.9 against 0.8 of the model in use on the same 100 samples'),
  });
  expect(at.store.json(bucketKeys.judgement(PIPELINE, 'digits-000002'))).toMatchObject({
    against: 'digits-000001',
    sides: { gained: 10, lost: 0 },
  });
});

it('one that shows nothing stays a candidate', async () => {
  await ended(1, hundred(80));
  await ended(2, hundred(81));
  expect(await modelOf(1)).toMatchObject({ state: 'current' });
  expect(await modelOf(2)).toMatchObject({ state: 'candidate', judged: { verdict: 'inconclusive' } });
});

it.each([
  ['a worse one', hundred(60), 'is not met'],
  ['one with NaN', `${hundred(90)}\n{"key": "b", "accuracy": NaN}`, 'line 101: NaN or Infinity is no score'],
  ['one with a sample twice', `${hundred(90)}\n${hundred(1)}`, 'has a score already'],
  ['one that lacks samples', hundred(90).split('\n').slice(5).join('\n'), '5 samples that the model in use'],
])('%s is rejected, and the one in use stays', async (_, scores, reason) => {
  await ended(1, hundred(80));
  await ended(2, scores);
  expect(await modelOf(1)).toMatchObject({ state: 'current' });
  expect(await modelOf(2)).toMatchObject({ state: 'rejected', reason: expect.stringContaining(reason) });
});

it('one without scores waits and says how', async () => {
  await ended(1, hundred(80));
  await ended(2, undefined);
  expect(await modelOf(2)).toMatchObject({
    state: 'candidate',
    reason: expect.stringContaining('tidewheel.score(key, …)'),
  });
});

it('each later comparison has to show more', async () => {
  await ended(1, hundred(80));
  for (let batch = 2; batch < 11; batch += 1) await ended(batch, hundred(81));
  await ended(11, hundred(90));
  expect(await modelOf(11)).toMatchObject({ state: 'candidate', judged: { verdict: 'inconclusive' } });
  expect((await modelOf(11))?.reason).toContain('comparison 10 with the model in use');
});

it('scores outlive checkpoints; a repeated report judges once', async () => {
  const run = await ended(1, hundred(80));
  await at.store.delete(bucketKeys.attemptScores(PIPELINE, run.runId, 2));
  await keepScores(at.store, run, 2);
  await recordModel(at, run, run.modelUri ?? '');
  await ended(2, hundred(90));
  expect(await modelOf(2)).toMatchObject({ state: 'current' });
  expect((await modelsOf(at, PIPELINE)).known.number).toBe(2);
});

it('groups of the split count as one', async () => {
  const declared = declarationOf(PIPELINE);
  const split = { train: 0.9, validation: 0.1, by: 'group', groupPattern: '^(a/\\d)' } as const;
  const first = await ended(1, hundred(80));
  const run = runOf(PIPELINE, 2, {
    status: 'succeeded',
    declaration: {
      ...first.declaration,
      ...declared,
      promote: RULE,
      packing: { ...declared.packing, split },
      training: { ...declared.training, objective: { metric: 'accuracy', mode: 'max' } },
    },
  });
  const key = `${bucketKeys.models(PIPELINE, run.runId)}job/output/model.tar.gz`;
  at.store.put(key, 'model');
  at.store.put(bucketKeys.scores(PIPELINE, run.runId), hundred(90));
  await recordModel(at, run, s3Uri(at.store.bucket, key));
  expect(await modelOf(2)).toMatchObject({ state: 'candidate', judged: { verdict: 'inconclusive' } });
});
