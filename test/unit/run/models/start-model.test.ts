/** The model that a run begins from: pinned at the close, looked at before each launch, gone once there is a checkpoint. */

import { bucketKeys, runIdOf, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { buildTrainingJob } from '../../../../functions/launch/sagemaker/training-job.ts';
import { settleRun } from '../../../../functions/run/ingest/settle-run.ts';
import { recordModel } from '../../../../functions/run/models/decide-models.ts';
import { modelToStartFrom, startModelOf } from '../../../../functions/run/models/start-model.ts';
import { launch, requestOf } from '../../../support/builders/launch.ts';
import { declarationOf, runOf } from '../../../support/builders/records.ts';
import { DECLARATION, type Ground, ground } from '../../../support/world/ground.ts';

const OWN = 'digits';
let at: Ground;
beforeEach(async () => {
  at = ground();
  await at.pipelines.ensure(OWN, { firstBatch: 1, at: at.clock.now().toISOString() });
});

const keyOf = (batch: number, pipeline = OWN): string =>
  `${bucketKeys.models(pipeline, runIdOf(pipeline, batch))}job/output/model.tar.gz`;
const uriOf = (batch: number, pipeline = OWN): string => s3Uri(at.store.bucket, keyOf(batch, pipeline));

async function ended(batch: number, pipeline = OWN, over: Partial<Pipeline> = {}) {
  at.store.put(keyOf(batch, pipeline), `model ${batch}`);
  const run = runOf(pipeline, batch, {
    status: 'succeeded',
    modelUri: uriOf(batch, pipeline),
    declaration: { ...declarationOf(pipeline), ...over },
  });
  await at.runs.create(run);
  return run;
}

const startOf = (startFrom: string, batch = 9) =>
  startModelOf(
    at,
    { runId: runIdOf(OWN, batch), pipeline: OWN },
    {
      training: { ...declarationOf(OWN).training, startFrom },
    },
  );

describe('the model at the close', () => {
  it('is none where none is there yet', async () => {
    for (const startFrom of ['none', 'last', 'current']) expect(await startOf(startFrom)).toBeUndefined();
  });

  it('is that of the last run that left one', async () => {
    await ended(1);
    await ended(2);
    await at.runs.create(runOf(OWN, 3, { status: 'failed' }));
    await ended(4);
    expect(await startOf('last', 4)).toMatchObject({ runId: 'digits-000002', uri: uriOf(2), bytes: 7 });
    expect(await startOf('last')).toMatchObject({ runId: 'digits-000004' });
  });

  it('is never the last one where that is rejected', async () => {
    await ended(1);
    const broken = await ended(2, OWN, { promote: 'always' });
    at.store.put(keyOf(2), '');
    await recordModel(at, broken, uriOf(2));
    expect(await startOf('last')).toMatchObject({ runId: 'digits-000001' });
  });

  it('is the current one, with the digest on record', async () => {
    await recordModel(at, await ended(1, OWN, { promote: 'always' }), uriOf(1));
    await ended(2);
    expect(await startOf('current')).toEqual({
      runId: 'digits-000001',
      uri: uriOf(1),
      bytes: 7,
      etag: expect.any(String),
      digest: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
  });

  it('may be of another pipeline, or an archive', async () => {
    await ended(7, 'letters');
    expect(await startOf('letters-000007')).toMatchObject({ uri: uriOf(7, 'letters') });
    expect(await startOf(uriOf(7, 'letters'))).toMatchObject({ uri: uriOf(7, 'letters'), bytes: 7 });
    expect(await startOf('s3://elsewhere/model.tar.gz')).toEqual({ uri: 's3://elsewhere/model.tar.gz' });
  });

  it('is refused where it is gone or replaced', async () => {
    await recordModel(at, await ended(1, OWN, { promote: 'always' }), uriOf(1));
    at.store.put(keyOf(1), 'other bytes');
    await expect(startOf('current')).rejects.toThrow(/training\.startFrom.* was replaced since/);
    at.store.remove(keyOf(1));
    await expect(startOf('current')).rejects.toThrow(/is gone: name another model, or write none/);
    await expect(startOf('digits-000005')).rejects.toThrow(/digits-000005 has left no model/);
  });

  it('stays the one of the close, on record', async () => {
    const startFrom = DECLARATION.replace('strategy: ddp', 'strategy: ddp, startFrom: last');
    at.declare(`${startFrom}\ndataset: { read: new }`);
    await ended(1);
    at.drop('_SUCCESS');
    const second = runOf(OWN, 2);
    await at.runs.create(second);
    await at.pipelines.setValidity(OWN, { valid: true, updatedAt: second.updatedAt });
    await at.runs.closeBatch(runOf(OWN, 1), { at: second.updatedAt });
    at.clock.advance(700);
    let observation: Parameters<typeof settleRun>[1]['observation'];
    for (let look = 0; look < 3; look += 1) {
      const settled = await settleRun(at, { runId: second.runId, observation });
      if (settled.kind !== 'wait') break;
      observation = settled.observation ?? undefined;
      at.clock.advance(700);
    }
    expect(await settleRun(at, { runId: second.runId })).toMatchObject({ draws: true });
    expect(await at.runs.get(second.runId)).toMatchObject({ startedFrom: { runId: 'digits-000001' } });
    expect(at.store.json(bucketKeys.closeRecord(OWN, second.runId))).toMatchObject({
      startedFrom: { runId: 'digits-000001' },
    });
    expect((await at.timeline.list(second.runId)).map(({ text }) => text)).toContain(
      'begins from the model of digits-000001',
    );
  });
});

describe('the model of an attempt', () => {
  const pinned = async () =>
    runOf(OWN, 2, { startedFrom: { ...(await startOf((await ended(1)).runId)), uri: uriOf(1) } });

  it('is left out once the run has a checkpoint', async () => {
    const run = await pinned();
    expect(await modelToStartFrom(at.store, run, false)).toMatchObject({ uri: uriOf(1) });
    expect(await modelToStartFrom(at.store, run, true)).toBeUndefined();
  });

  it('is refused where its bytes have changed', async () => {
    const run = await pinned();
    at.store.put(keyOf(1), 'other bytes');
    await expect(modelToStartFrom(at.store, run, false)).rejects.toThrow(
      /replaced since the batch was closed/,
    );
    at.store.remove(keyOf(1));
    await expect(modelToStartFrom(at.store, run, false)).rejects.toThrow(/is gone: restore it/);
  });

  it('is the channel model, a list of one', () => {
    const model = { uri: 's3://b/digits/runs/x/models/job/output/model.tar.gz', digest: 'd'.repeat(64) };
    const input = launch({ model });
    const { InputDataConfig, HyperParameters } = requestOf(input);
    const uri = 's3://tw-data/digits/runs/digits-000001/model.manifest';
    expect(InputDataConfig.at(-1)).toEqual({
      ChannelName: 'model',
      InputMode: 'File',
      DataSource: {
        S3DataSource: { S3DataType: 'ManifestFile', S3Uri: uri, S3DataDistributionType: 'FullyReplicated' },
      },
    });
    expect(HyperParameters['tidewheel_model']).toBe(JSON.stringify(model.digest));
    const job = buildTrainingJob(input);
    expect(job.kind === 'request' && job.objects.at(-1)).toEqual({
      key: 'digits/runs/digits-000001/model.manifest',
      text: '[{"prefix":"s3://b/digits/runs/x/models/job/output/"},"model.tar.gz"]',
    });
  });
});
