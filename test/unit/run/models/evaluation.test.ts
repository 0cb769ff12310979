/** Models that a script of the pipeline scores beside the one in use. */

import { bucketKeys, probeIdOf, runIdOf, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import type { FinishedNote } from '@tidewheel/contract/finished.ts';
import type { Promote } from '@tidewheel/declaration/pipeline.ts';
import { beforeEach, expect, it } from 'vitest';
import type { RunRecord } from '../../../../functions/records/run-records.ts';
import {
  evaluateAlone,
  evaluateWhatIsLeft,
  recordEvaluation,
} from '../../../../functions/run/attempts/evaluate-alone.ts';
import { launchAttempt } from '../../../../functions/run/attempts/launch-attempt.ts';
import { decideAsAsked } from '../../../../functions/run/models/choose-model.ts';
import { modelsOf, recordModel } from '../../../../functions/run/models/decide-models.ts';
import { evaluationOf } from '../../../../functions/run/models/evaluation.ts';
import { keepScores } from '../../../../functions/run/models/kept-scores.ts';
import { AT, declarationOf, launchOf, runOf } from '../../../support/builders/records.ts';
import { sealGeneration } from '../../../support/builders/sealed-generation.ts';
import { type Ground, ground } from '../../../support/world/ground.ts';

const PIPELINE = 'digits';
let at: Ground;
beforeEach(() => {
  at = ground();
});

/** So many samples are right, from the first one on. */
const scores = (right: number, samples: number) =>
  Array.from({ length: samples }, (_, k) =>
    JSON.stringify({ key: `a/${k}`, accuracy: Number(k < right) }),
  ).join('\n');

const shardsOf = (generations: number) =>
  Array.from({ length: generations }, (_, k) => ({
    split: 'validation' as const,
    shardsPrefix: `digits/dataset/${k}/shards/validation/`,
    shards: ['0.tar'],
    totals: { shards: 1, bytes: 1 },
  }));

type Evaluated = Partial<NonNullable<FinishedNote['candidate']>>;

interface Ended {
  /** In the dataset. */
  readonly generations?: number;
  readonly candidate?: string;
  readonly current?: string;
  readonly evaluated?: Evaluated | 'lost';
  readonly promote?: Promote;
  readonly script?: string;
  readonly words?: readonly string[];
  readonly on?: readonly string[];
}

async function ended(batch: number, given: Ended) {
  const { generations = batch, script = 'one', words = [], on } = given;
  const runId = runIdOf(PIPELINE, batch);
  const channels = { holdout: { s3: s3Uri(at.store.bucket, 'digits/holdout/') } };
  const declaration = declarationOf(PIPELINE, {
    evaluation: { entryPoint: 'evaluate.py', arguments: [...words], ...(on && { on }) },
    packing: { split: { train: 0.5, validation: 0.5 } },
    training: { strategy: 'ddp', objective: { metric: 'accuracy', mode: 'max' }, ...(on && { channels }) },
    promote: given.promote ?? { whenBetterBy: 0 },
  });
  const open = runOf(PIPELINE, batch, { declaration, source: script });
  const evaluation = await evaluationOf(at, open, shardsOf(generations));
  const run = { ...open, evaluation };
  const key = `${bucketKeys.models(PIPELINE, runId)}job/output/model.tar.gz`;
  at.store.put(key, `model ${batch}`);
  scored(runId, given);
  const kept = await keepScores(at.store, run, 1);
  await recordModel(at, run, s3Uri(at.store.bucket, key), kept);
  await evaluateWhatIsLeft(at, run, kept);
  return { declaration, evaluation, model: await modelOf(batch) };
}

const modelOf = async (batch: number) =>
  (await modelsOf(at, PIPELINE)).known.models.find(({ runId }) => runId === runIdOf(PIPELINE, batch));

/** What the host of the run has left. */
function scored(runId: string, { candidate, current, evaluated }: Ended): void {
  const usual = { result: 'ended', seconds: 1, samples: 1 };
  const evaluations = [
    ...(evaluated === 'lost' ? [] : [{ of: 'candidate', ...usual, ...evaluated }]),
    ...(current === undefined ? [] : [{ of: 'current', ...usual }]),
  ];
  const note = { version: 1, bytes: 7, digest: 'a'.repeat(64), evaluations };
  at.store.put(bucketKeys.finished(PIPELINE, runId, 1), JSON.stringify(note));
  if (candidate !== undefined) at.store.put(bucketKeys.attemptScores(PIPELINE, runId, 1), candidate);
  if (current !== undefined)
    at.store.put(bucketKeys.attemptScores(PIPELINE, runId, 1, 'currentScores'), current);
}

/** The evaluation alone of this number, from its launch to its report, which comes twice. */
async function alone(number: number, given: Ended): Promise<RunRecord> {
  const runId = probeIdOf(PIPELINE, number);
  const open = await at.runs.get(runId);
  if (open === undefined) throw new Error(`there is no ${runId}`);
  const evaluation = await evaluationOf(at, open, shardsOf(given.generations ?? 2));
  const run = await at.runs.update(runId, { evaluation, updatedAt: open.createdAt });
  scored(runId, given);
  for (let time = 0; time < 2; time += 1) await recordEvaluation(at, run, { attempt: 1 });
  await at.runs.finish(run, { status: 'succeeded', updatedAt: open.createdAt });
  return (await at.runs.get(runId)) ?? run;
}

const probes = async (): Promise<readonly string[]> =>
  (await at.runs.listProbes(PIPELINE, 100)).map(({ runId }) => runId);

it('a model is judged on samples that came since', async () => {
  const first = await ended(1, { candidate: scores(100, 100) });
  expect(first.evaluation?.current).toBeUndefined();
  expect(first.model).toMatchObject({ state: 'current', judged: { verdict: 'first' } });
  const { evaluation, model } = await ended(2, { candidate: scores(150, 150), current: scores(100, 150) });
  expect(evaluation?.current).toMatchObject({ runId: 'digits-000001', digest: first.model?.digest });
  expect(model).toMatchObject({
    state: 'current',
    judged: { pairs: 150, earlier: { samples: 100, better: 0 }, fresh: { samples: 50, mean: 1, better: 1 } },
    reason: expect.stringContaining('on 100 earlier ones 1 against 1: 0'),
  });
});

it('samples, script and model are scored together once', async () => {
  await ended(1, { candidate: scores(90, 100) });
  const same = await ended(2, { generations: 1, candidate: scores(90, 100) });
  expect(same.evaluation?.current).toBeUndefined();
  expect(same.model).toMatchObject({ state: 'candidate', judged: { pairs: 100 } });
  expect((await ended(3, { generations: 1, script: 'two' })).evaluation?.current).toBeDefined();
  expect((await ended(4, { generations: 2 })).evaluation?.current).toBeDefined();
  expect((await ended(5, { generations: 1, words: ['--top', '5'] })).evaluation?.current).toBeDefined();
});

it('without new scores those of its run count', async () => {
  await ended(1, { candidate: scores(80, 100) });
  await ended(2, { candidate: scores(140, 150) });
  await alone(1, { evaluated: 'lost' });
  expect(await modelOf(2)).toMatchObject({
    state: 'current',
    judged: { pairs: 100, fresh: { samples: 50, mean: 0.8 } },
  });
});

it('a lost evaluation runs again alone', async () => {
  await ended(1, { candidate: scores(80, 100) });
  const { model } = await ended(2, { evaluated: 'lost' });
  expect(model).toMatchObject({ state: 'candidate', by: 'digits-000002' });
  const run = await alone(1, { candidate: scores(150, 150), current: scores(80, 150) });
  expect(run).toMatchObject({
    status: 'succeeded',
    source: 'one',
    probe: { evaluates: { runId: 'digits-000002', decides: true, after: 'digits-000002' } },
    startedFrom: { digest: model?.digest },
    declaration: {
      training: { strategy: 'single', entryPoint: 'evaluate.py', model: 'none' },
      compute: { nodes: 1 },
    },
    evaluation: { candidate: { runId: 'digits-000002' }, current: { runId: 'digits-000001' } },
    judged: { verdict: 'better', pairs: 150 },
  });
  expect(await modelOf(2)).toMatchObject({
    state: 'current',
    by: 'digits-probe-000001',
    judged: { pairs: 150, fresh: { samples: 50 } },
  });
  const third = await ended(3, { generations: 2, candidate: scores(150, 150) });
  expect(third.evaluation).not.toHaveProperty('current');
  expect(third.model?.judged).toMatchObject({ against: 'digits-000002', pairs: 150 });
  expect(await probes()).toEqual(['digits-probe-000001']);
});

it('the current model may be scored alone later', async () => {
  await ended(1, { candidate: scores(80, 100) });
  const { model } = await ended(2, { candidate: scores(150, 150) });
  expect(model).toMatchObject({ state: 'candidate', reason: expect.stringContaining('still to be scored') });
  const run = await alone(1, { evaluated: 'lost', current: scores(80, 150) });
  expect(run.evaluation).not.toHaveProperty('candidate');
  expect(await modelOf(2)).toMatchObject({ state: 'current', judged: { pairs: 150 } });
});

it('an evaluation alone leaves at most one more', async () => {
  await ended(1, { candidate: scores(80, 100) });
  await ended(2, { evaluated: 'lost' });
  await alone(1, { candidate: scores(150, 150) });
  expect(await modelOf(2)).toMatchObject({
    state: 'candidate',
    reason: expect.stringContaining('still to be scored'),
  });
  await alone(2, { evaluated: 'lost' });
  expect(await modelOf(2)).toMatchObject({ state: 'current', judged: { pairs: 100 } });
  expect(await probes()).toEqual(['digits-probe-000002', 'digits-probe-000001']);
});

it('a person who has decided meanwhile is not overruled', async () => {
  await ended(1, { candidate: scores(80, 100) });
  await ended(2, { evaluated: 'lost' });
  const choice = { pipeline: PIPELINE, runId: 'digits-000002', by: 'ada', reason: 'broken labels' };
  await decideAsAsked(at, { ...choice, decision: 'reject' });
  await alone(1, { candidate: scores(150, 150), current: scores(80, 150) });
  expect(await modelOf(2)).toMatchObject({ state: 'rejected', by: 'ada' });
});

it.each<[string, Ended, string, string]>([
  [
    'a script that failed',
    { evaluated: { result: 'failed', message: 'exit code 1: RuntimeError: size' } },
    'rejected',
    'evaluate.py failed: exit code 1: RuntimeError: size',
  ],
  [
    'a lost host',
    { evaluated: 'lost', candidate: scores(9, 150) },
    'candidate',
    'its evaluation is missing: its host was lost',
  ],
  [
    'a script that was too slow',
    { evaluated: { result: 'timedOut' } },
    'candidate',
    'had not ended after 900 s (evaluation.maximumSeconds)',
  ],
  [
    'one number',
    { evaluated: { samples: 0, printed: { accuracy: 0.9 } } },
    'candidate',
    'no difference can be tested without a score for each sample',
  ],
  [
    'no number',
    { evaluated: { samples: 0, printed: { f1: 0.9 } } },
    'rejected',
    'printed no finite number for accuracy',
  ],
  [
    'a sample twice',
    { candidate: `${scores(150, 150)}\n${scores(1, 1)}` },
    'rejected',
    'has a score already',
  ],
  [
    'other samples than the one in use',
    { candidate: scores(150, 150), current: scores(100, 149) },
    'rejected',
    'have the evaluation score the same samples each time',
  ],
])('%s never replaces the model in use', async (_, given, state, reason) => {
  await ended(1, { candidate: scores(80, 100) });
  const { model } = await ended(2, given);
  expect(model).toMatchObject({ state, reason: expect.stringContaining(reason) });
  expect((await modelsOf(at, PIPELINE)).known.models).toContainEqual(
    expect.objectContaining({ runId: 'digits-000001', state: 'current' }),
  );
});

it('people who decide themselves see the comparison', async () => {
  await ended(1, { candidate: scores(80, 100), promote: 'byHand' });
  const { model } = await ended(2, {
    candidate: scores(100, 100),
    current: scores(80, 100),
    promote: 'byHand',
  });
  expect(model).toMatchObject({
    state: 'candidate',
    judged: { verdict: 'better', better: expect.closeTo(0.2) },
  });
});

it('an evaluation that is known starts no host', async () => {
  const { declaration, model } = await ended(1, { candidate: scores(80, 100) });
  if (model === undefined) throw new Error('there is no model');
  at.store.put(`${bucketKeys.source(PIPELINE)}evaluate.py`, 'print()');
  await sealGeneration(at.store, 'digits-000001', {
    shards: ['train', 'validation'].map((split) => ({ name: `${split}/0.tar`, bytes: 9 })),
    splits: [{ name: 'train' }, { name: 'validation' }],
  });
  const deps = { ...at, region: 'us-east-1', publishAgent: () => Promise.resolve('agent/0a1b/') };
  const of = { runId: 'digits-000001', decides: false };
  for (const number of [1, 2]) {
    const { runId } = await evaluateAlone(at, { declaration, batch: 1, requestedBy: 'ada', model, of });
    expect(runId).toBe(probeIdOf(PIPELINE, number));
    await at.placements.put(runId, 1, launchOf());
    await launchAttempt(deps, { runId, attempt: 1, taskToken: 'token' });
    scored(runId, number === 1 ? { candidate: scores(80, 100) } : { evaluated: 'lost' });
    const run = await at.runs.get(runId);
    if (run === undefined) throw new Error(`there is no ${runId}`);
    await recordEvaluation(at, run, { attempt: 1 });
    expect(await at.runs.get(runId)).toMatchObject({ judged: { mean: 0.8 } });
    await at.runs.finish(run, { status: 'succeeded', updatedAt: run.createdAt });
  }
  const [job, ...others] = at.training.jobs.values();
  expect(others).toEqual([]);
  expect(job?.HyperParameters?.['tidewheel_script']).toContain('isAlone');
  expect(job?.InputDataConfig?.map(({ ChannelName }) => ChannelName)).toContain('model');
  expect(await at.attempts.get('digits-probe-000002', 1)).toMatchObject({
    status: 'done',
    outcome: { message: 'all was scored before' },
  });
});

it('an evaluation alone on a channel starts no other', async () => {
  const on = ['holdout'];
  await ended(1, { candidate: scores(80, 100), on });
  await ended(2, { candidate: scores(90, 100), on });
  await alone(1, { candidate: scores(90, 100) });
  expect(await probes()).toEqual(['digits-probe-000001']);
});

it('an evaluation that scored nothing rejects no model', async () => {
  await ended(1, { candidate: scores(80, 100) });
  await ended(2, { evaluated: 'lost' });
  await alone(1, { evaluated: 'lost' });
  expect(await modelOf(2)).toMatchObject({ state: 'candidate' });
});

it('an evaluation that a person stopped decides nothing', async () => {
  await ended(1, { candidate: scores(80, 100) });
  await ended(2, { evaluated: 'lost' });
  const before = await modelOf(2);
  const runId = probeIdOf(PIPELINE, 1);
  await at.runs.requestStop(runId, { mode: 'now', at: AT, requestedBy: 'ada' });
  await alone(1, { candidate: scores(150, 150), current: scores(80, 150) });
  expect(await modelOf(2)).toEqual(before);
});

it('a comparison alone stands with its model', async () => {
  await ended(1, { candidate: scores(80, 100) });
  await ended(2, { evaluated: 'lost' });
  await alone(1, { candidate: scores(150, 150), current: scores(80, 150) });
  const { text = '' } = (await at.store.readText(bucketKeys.judgement(PIPELINE, runIdOf(PIPELINE, 2)))) ?? {};
  expect(JSON.parse(text)).toMatchObject({ runId: 'digits-000002', verdict: 'better' });
  const news = at.notifier.notices.filter(({ notice }) => notice.type === 'ModelEvaluated');
  expect(news.at(-1)).toMatchObject({ notice: { by: 'digits-probe-000001', decision: 'promoted' } });
});
