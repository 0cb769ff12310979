/** A drop that trains only where the model in use is worse on it, or where enough has come. */

import { bucketKeys, probeIdOf, runIdOf, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { beforeEach, expect, it } from 'vitest';
import { datasetOf } from '../../../../functions/records/run-dataset.ts';
import type { RunRecord } from '../../../../functions/records/run-records.ts';
import { judgeRun } from '../../../../functions/run/attempts/judge-run.ts';
import { reportRun } from '../../../../functions/run/attempts/report-run.ts';
import { recordModel } from '../../../../functions/run/models/decide-models.ts';
import { declarationOf, runOf } from '../../../support/builders/records.ts';
import { sealGeneration } from '../../../support/builders/sealed-generation.ts';
import { type Ground, ground } from '../../../support/world/ground.ts';

const NAME = 'digits';
const RUN = runIdOf(NAME, 2);
const PROBE = probeIdOf(NAME, 1);

const declared = (when: NonNullable<Pipeline['training']['when']>) =>
  declarationOf(NAME, {
    evaluation: { entryPoint: 'evaluate.py' },
    packing: { split: { train: 0.5, validation: 0.5 } },
    training: { strategy: 'ddp', objective: { metric: 'accuracy', mode: 'max' }, when },
    promote: { whenBetterBy: 0 },
  });

const hundred = (right: number, of: string) =>
  Array.from({ length: 100 }, (_, k) => `{"key": "${of}/${k}", "accuracy": ${Number(k < right)}}`).join('\n');

let at: Ground;

/** A first model is right on 90 of a hundred samples; then a second drop is sealed. */
beforeEach(async () => {
  at = ground();
  await at.pipelines.ensure(NAME, { firstBatch: 1, at: '2026-07-26T05:00:00.000Z' });
  await dropped(1, { status: 'succeeded' });
  const key = `${bucketKeys.models(NAME, runIdOf(NAME, 1))}job/output/model.tar.gz`;
  at.store.put(key, 'a model');
  at.store.put(bucketKeys.scores(NAME, runIdOf(NAME, 1)), hundred(90, 'old'));
  const first = runOf(NAME, 1, { declaration: declarationOf(NAME, { promote: 'always' }) });
  await recordModel(at, first, s3Uri(at.store.bucket, key));
});

async function dropped(batch: number, of: Partial<RunRecord> = {}): Promise<void> {
  const generation = runIdOf(NAME, batch);
  await sealGeneration(at.store, generation, { samples: 40, shards: [{ name: 'train/0.tar', bytes: 9 }] });
  const declaration = of.declaration ?? declared({ worseBy: '5 %' });
  await at.runs.create(runOf(NAME, batch, { declaration, generation, ...of }));
}

/** The evaluation alone has ended. */
async function scored(right: number | undefined): Promise<void> {
  if (right !== undefined) at.store.put(bucketKeys.scores(NAME, PROBE), hundred(right, 'new'));
  const probe = await at.runs.get(PROBE);
  if (probe === undefined) throw new Error(`there is no ${PROBE}`);
  await at.runs.finish(probe, {
    status: right === undefined ? 'failed' : 'succeeded',
    updatedAt: probe.createdAt,
  });
}

const judged = () => judgeRun(at, { runId: RUN });

it('a drop is scored whole, and once', async () => {
  await dropped(2);
  for (let look = 0; look < 3; look += 1)
    expect(await judged()).toEqual({ kind: 'wait', seconds: 5, reason: `${PROBE} scores what arrived` });
  expect([...at.executions.started.keys()]).toHaveLength(1);
  const probe = await at.runs.get(PROBE);
  expect(probe).toMatchObject({
    startedFrom: { runId: runIdOf(NAME, 1) },
    probe: { evaluates: { arrivals: RUN } },
  });
  const { shards } = await datasetOf(at.store, probe as RunRecord);
  expect(shards.map(({ split, shardsPrefix }) => `${split} ${shardsPrefix}`)).toEqual([
    `train digits/dataset/${RUN}/shards/`,
    `validation digits/dataset/${RUN}/shards/`,
  ]);
});

it.each([
  ['5 %', 86, 'notNeeded', 'not worse by more than 5 %'],
  ['5 %', 85, 'place', 'worse by more than 5 %'],
  [0.05, 86, 'notNeeded', 'not worse by more than 0.05'],
  [0.03, 86, 'place', 'worse by more than 0.03'],
])('worseBy %s and %d right of new ones: %s', async (worseBy, right, kind, why) => {
  await dropped(2, { declaration: declared({ worseBy }) });
  await judged();
  await scored(right);
  const reason = `accuracy of the model in use is ${right / 100} on 100 samples that arrived, and was 0.9 on 100 samples when it was new: ${why} (training.when.worseBy)`;
  expect(await judged()).toEqual({ kind, reason });
  expect(await judged()).toEqual({ kind, reason });
});

it('enough samples since the last training are trained on', async () => {
  const declaration = declared({ worseBy: 1, orSamples: 80 });
  await dropped(2, { declaration });
  await judged();
  await scored(90);
  expect(await judged()).toMatchObject({
    kind: 'notNeeded',
    reason: expect.stringMatching(/; 40 samples came since .* 80 are wanted/),
  });
  const report = await reportRun(at, RUN, { kind: 'notNeeded', reason: 'as above' });
  const scores = { metric: 'accuracy', model: runIdOf(NAME, 1), samples: 100, mean: 0.9, known: 0.9 };
  expect(report).toMatchObject({
    status: 'notNeeded',
    costUsd: 0,
    deadline: { met: null },
    need: { since: 40, scores },
  });
  expect(at.notifier.notices.at(-1)).toMatchObject({
    notice: { type: 'TrainingNotNeeded', since: 40, ...scores },
  });
  await dropped(3, { declaration });
  const next = { runId: runIdOf(NAME, 3) };
  await judgeRun(at, next);
  at.store.put(bucketKeys.scores(NAME, probeIdOf(NAME, 2)), hundred(95, 'newer'));
  const probe = (await at.runs.get(probeIdOf(NAME, 2))) as RunRecord;
  await at.runs.finish(probe, { status: 'succeeded', updatedAt: probe.createdAt });
  expect(await judgeRun(at, next)).toMatchObject({
    kind: 'place',
    reason: expect.stringMatching(/; 80 samples .* 80 are enough/),
  });
});

it('a scoring that failed or hangs has it train', async () => {
  await dropped(2);
  await judged();
  await scored(undefined);
  const failed = `trains, because ${PROBE} has failed and left no scores of accuracy that can be read (a line for each sample, 100,000 and 16 MiB at most)`;
  expect(await judged()).toEqual({ kind: 'place', reason: failed });
  await dropped(3);
  const next = { runId: runIdOf(NAME, 3) };
  expect(await judgeRun(at, next)).toMatchObject({ kind: 'wait' });
  at.clock.advance(900 + 3_601);
  expect(await judgeRun(at, next)).toMatchObject({
    kind: 'place',
    reason: expect.stringContaining('has scored nothing for 4501 s'),
  });
  expect((await at.runs.get(probeIdOf(NAME, 2)))?.stop).toMatchObject({
    mode: 'now',
    requestedBy: runIdOf(NAME, 3),
  });
});

it('a stop of the waiting run ends its scoring', async () => {
  await dropped(2);
  await judged();
  await at.runs.requestStop(RUN, { mode: 'now', requestedBy: 'ada', at: at.clock.now().toISOString() });
  expect(await judged()).toMatchObject({ kind: 'stopped' });
  expect((await at.runs.get(PROBE))?.stop).toMatchObject({ requestedBy: RUN });
});

it('scores of another source are not compared', async () => {
  await dropped(2);
  await judged();
  await at.runs.update(PROBE, { source: 'f'.repeat(64), updatedAt: at.clock.now().toISOString() });
  await scored(90);
  expect(await judged()).toEqual({
    kind: 'place',
    reason: `trains, because the source or the evaluation is another one than that of ${runIdOf(NAME, 1)}`,
  });
});

it.each([
  [
    'person asked',
    { request: { at: '2026-07-26T05:00:00.000Z', requestedBy: 'ada', tokens: [], changed: [] } },
  ],
  [
    'person retries it',
    { retry: { number: 1, at: '2026-07-26T05:00:00.000Z', requestedBy: 'ada', attempts: 0 } },
  ],
  ['drop brought nothing', { generation: undefined }],
])('where a %s it trains unasked', async (_, of) => {
  await dropped(2, of);
  expect(await judged()).toEqual({ kind: 'place', reason: 'first attempt' });
});
