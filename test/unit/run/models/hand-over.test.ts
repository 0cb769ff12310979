/** Models in other registries: what stands there after any decision, death and approval. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { DescribeModelPackageCommand, UpdateModelPackageCommand } from '@aws-sdk/client-sagemaker';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import { describe, expect, it, vi } from 'vitest';
import { parseDocument } from 'yaml';
import { mlflowRegistry } from '../../../../functions/aws/registries/mlflow-registry.ts';
import { noticeEvent } from '../../../../functions/notices/notice-event.ts';
import { modelsOf } from '../../../../functions/run/models/decide-models.ts';
import { MOST_TRIES } from '../../../../functions/run/models/hand-over.ts';
import {
  groupOf,
  pipelineIn,
  registryContract,
  shownInMlflow,
  shownInSageMaker,
} from '../../../support/contracts/registries.ts';
import { fakeClock } from '../../../support/fakes/clock.ts';
import { addressOf, memoryMlflow, memorySageMaker } from '../../../support/fakes/registries.ts';
import { ground } from '../../../support/world/ground.ts';

const memoryWorld = (registries: object, clock = fakeClock()) => ({
  sageMaker: memorySageMaker(clock).client,
  fetch: memoryMlflow(),
  registries,
});

registryContract('a group of model packages', async () => {
  const world = memoryWorld({ sagemaker: {} });
  return Promise.resolve({ ...world, show: shownInSageMaker(world.sageMaker) });
});

registryContract('a registered model of MLflow', async () => {
  const world = memoryWorld({ mlflow: {} });
  return Promise.resolve({ ...world, show: shownInMlflow(world.fetch, 'https://mlflow.test') });
});

/** A first model in use, and a second one that waits; both are in the registry. */
async function waiting(declared: object = { approvalPromotes: true }) {
  const at = ground();
  const { sageMaker, ...rest } = memoryWorld({ sagemaker: declared }, at.clock);
  const show = shownInSageMaker(sageMaker);
  const on = await pipelineIn({ ...rest, sageMaker, show, promote: 'byHand' }, at);
  await on.record(1);
  await on.record(2);
  await on.process()(on.messages());
  const arn = (version: number) =>
    `arn:aws:sagemaker:us-east-1:123456789012:model-package/${groupOf(on.pipeline)}/${version}`;
  const event = (version: number) => ({
    messageId: `package${version}`,
    receipt: 'r',
    receives: 1,
    body: JSON.stringify({
      'detail-type': 'SageMaker Model Package State Change',
      detail: { ModelPackageArn: arn(version), ModelApprovalStatus: 'Approved' },
    }),
  });
  return {
    ...on,
    event,
    describe: (version: number) =>
      sageMaker.send(new DescribeModelPackageCommand({ ModelPackageName: arn(version) })),
    approve: async (version: number, ApprovalDescription?: string) => {
      at.clock.advance(60);
      const ModelApprovalStatus = 'Approved';
      await sageMaker.send(
        new UpdateModelPackageCommand({
          ModelPackageArn: arn(version),
          ModelApprovalStatus,
          ...(ApprovalDescription && { ApprovalDescription }),
        }),
      );
      at.clock.advance(60);
    },
    known: async () => (await modelsOf(at, on.pipeline)).known,
  };
}

describe('an approval in SageMaker', () => {
  it('promotes here, once, after any death', async () => {
    for (let call = 1; call < 12; call += 1) {
      const on = await waiting();
      await on.approve(2, 'seen in the lab');
      await on.process(call)([on.event(2)]);
      await on.process()([on.event(2), ...on.messages()]);
      const known = await on.known();
      expect(known.number).toBe(3);
      expect(known.models).toMatchObject([
        { state: 'current', by: 'a person in SageMaker Model Registry', reason: 'seen in the lab' },
        { state: 'former' },
      ]);
      expect(await on.shown()).toMatchObject({ inUse: [on.runIds(2)] });
    }
  });

  it('needs no words', async () => {
    const on = await waiting();
    await on.approve(2);
    await on.process()([on.event(2)]);
    expect((await on.known()).models[0]).toMatchObject({ state: 'current', reason: 'approved as version 2' });
  });

  it('is no echo of a decision here', async () => {
    const on = await waiting();
    await on.choose('promote', 2);
    await on.process()(on.messages());
    await on.choose('rollback', 2);
    await on.process()([on.event(1), on.event(2)]);
    expect(await on.known()).toMatchObject({
      number: 4,
      models: [{ state: 'rejected' }, { state: 'current' }],
    });
  });

  it('never undoes a later promotion here', async () => {
    const on = await waiting();
    await on.approve(2);
    await on.record(3);
    await on.choose('promote', 3);
    await on.process()([on.event(2), ...on.messages()]);
    const { models } = await on.known();
    expect(models.find(({ state }) => state === 'current')?.runId).toBe(on.runIds(3));
    expect(await on.describe(2)).not.toMatchObject({ ModelApprovalStatus: 'Approved' });
  });

  it('never undoes a later decision here', async () => {
    const on = await waiting();
    await on.approve(2);
    await on.choose('reject', 2);
    await on.process()([on.event(2), ...on.messages()]);
    expect(await on.known()).toMatchObject({
      number: 3,
      models: [{ state: 'rejected' }, { state: 'current' }],
    });
    expect(await on.describe(2)).toMatchObject({ ModelApprovalStatus: 'Rejected' });
  });

  it('of a model that is gone is withdrawn', async () => {
    const on = await waiting();
    await on.approve(2);
    on.at.store.remove(`${bucketKeys.models(on.pipeline, on.runIds(2))}model.tar.gz`);
    expect((await on.process()([on.event(2)])).failed).toEqual([]);
    expect(await on.describe(2)).toMatchObject({
      ModelApprovalStatus: 'PendingManualApproval',
      ApprovalDescription: expect.stringContaining('is gone'),
    });
  });

  it('stays there alone where nothing is declared', async () => {
    const on = await waiting({});
    await on.approve(2);
    await on.process()([on.event(2)]);
    expect(await on.known()).toMatchObject({ number: 2 });
    expect(await on.describe(2)).toMatchObject({ ModelApprovalStatus: 'Approved' });
  });

  it('of a package of others means nothing', async () => {
    const on = await waiting();
    expect(await on.process()([on.event(9)])).toEqual({ notes: [], failed: [] });
  });
});

it('a slow table leaves no registry alone', async () => {
  const { sageMaker, ...rest } = memoryWorld({ sagemaker: {} });
  const on = await pipelineIn({ ...rest, sageMaker, show: shownInSageMaker(sageMaker) });
  await on.record(1);
  await on.record(2);
  vi.spyOn(on.at.models, 'get').mockRejectedValueOnce(new TransientError('the table is throttled'));
  const { failed } = await on.process()(on.messages());
  expect(failed).toMatchObject([{ reason: 'the table is throttled' }]);
  expect(await on.shown()).toMatchObject({ inUse: [on.runIds(2)] });
});

it('a secret that cannot be used is named', async () => {
  const { fetch, ...world } = memoryWorld({ mlflow: {} });
  const on = await pipelineIn({ ...world, fetch, show: shownInMlflow(fetch, 'https://mlflow.test') });
  await on.record(1);
  const { known } = await modelsOf(on.at, on.pipeline);
  const server = () => Promise.resolve({ reason: 'there is no such secret' });
  const registry = mlflowRegistry({ name: 'digits', address: 'tidewheel/registry/lab', fetch, server });
  const put = known.models.map((model) => registry.put({ model, current: undefined, tags: {} }));
  await expect(Promise.all(put)).rejects.toThrow(
    'registries.mlflow.secret tidewheel/registry/lab: there is no such secret',
  );
});

describe('a registry that is down', () => {
  async function down() {
    const { sageMaker } = memoryWorld({});
    const asked: string[] = [];
    const fetch: typeof globalThis.fetch = (input) => {
      asked.push(addressOf(input));
      return Promise.reject(new TypeError('fetch failed'));
    };
    const show = shownInSageMaker(sageMaker);
    const on = await pipelineIn({ sageMaker, fetch, show, registries: { sagemaker: {}, mlflow: {} } });
    await on.record(1);
    return { ...on, asked };
  }

  it('holds up neither a promotion nor another registry', async () => {
    const { process, messages, shown, runIds, asked } = await down();
    const { failed } = await process()(messages());
    expect(failed).toHaveLength(1);
    expect(await shown()).toMatchObject({ inUse: [runIds(1)] });
    expect(asked).toHaveLength(1);
  });

  it('is named at once, and to people later', async () => {
    const { process, messages, at, runIds } = await down();
    const message = messages().at(-1);
    for (const receives of [1, 2, 3, 4, MOST_TRIES])
      await process()(message === undefined ? [] : [{ ...message, receives }]);
    const entries = await at.timeline.list(runIds(1));
    expect(
      entries.flatMap(({ kind, text }) => (kind.startsWith('HandOver') ? [`${kind}: ${text}`] : [])),
    ).toEqual([
      'HandOverDelayed: MLflow does not know yet what was decided: mlflow.test cannot be reached. It is tried again for a day',
      'HandOverFailed: MLflow does not know yet what was decided: mlflow.test cannot be reached. It is among the dead letters',
    ]);
    const notices = at.notifier.notices.filter(({ notice }) => notice.type === 'HandOverDelayed');
    expect(notices).toHaveLength(2);
  });
});

const template = parseDocument(
  readFileSync(path.join(import.meta.dirname, '../../../../serverless/events.yml'), 'utf8'),
  { logLevel: 'silent' },
);

it('the queue gives a message as often as tried', () => {
  const times = ['Resources', 'RegistriesQueue', 'Properties', 'RedrivePolicy', 'maxReceiveCount'];
  expect(template.getIn(times)).toBe(MOST_TRIES);
});

it('its rule lets through all decisions on models', () => {
  const pattern = ['Resources', 'ModelsRule', 'Properties', 'EventPattern', 'detail-type'];
  const decisions = noticeEvent.options.map(({ shape }) => shape['detail-type'].value);
  expect(JSON.parse(JSON.stringify(template.getIn(pattern)))).toEqual(
    decisions.filter((type) => type.startsWith('Model')),
  );
});
