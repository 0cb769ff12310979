/** What a hand-over leaves in a registry after deaths and after doubled and late events, in fakes and in real servers. */
import {
  DescribeModelPackageCommand,
  ListModelPackagesCommand,
  type SageMakerClient,
} from '@aws-sdk/client-sagemaker';
import { bucketKeys, runIdOf, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import { describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import * as z from 'zod';
import { openRegistries } from '../../../functions/handlers/hand-over/open-registries.ts';
import { type Choice, decideAsAsked } from '../../../functions/run/models/choose-model.ts';
import { recordModel } from '../../../functions/run/models/decide-models.ts';
import { drainHandOvers } from '../../../functions/run/models/hand-over.ts';
import type { PolledMessage } from '../../../functions/run/queue-messages.ts';
import { attemptOf, declarationOf, runOf } from '../builders/records.ts';
import { ground } from '../world/ground.ts';

/** What both registries can show. */
export interface Shown {
  /** Runs whose models it shows as the one in use. */
  readonly inUse: readonly string[];
  /** The state of each package or version, by its run; a run twice is two of them. */
  readonly states: readonly (readonly [runId: string, state: string])[];
}

export interface RegistryWorld {
  readonly sageMaker: SageMakerClient;
  readonly fetch: typeof fetch;
  readonly registries: object;
  readonly promote?: string | object;
  /** Where MLflow listens. */
  readonly server?: string;
  readonly show: (pipeline: string) => Promise<Shown>;
}

const STACK = 'tidewheel-dev';
export const groupOf = (pipeline: string): string => `${STACK}-${pipeline}`;

/** As a person sees it: the approved one is in use. */
export const shownInSageMaker =
  (client: SageMakerClient) =>
  async (pipeline: string): Promise<Shown> => {
    const { ModelPackageSummaryList: list = [] } = await client.send(
      new ListModelPackagesCommand({ ModelPackageGroupName: groupOf(pipeline), MaxResults: 100 }),
    );
    const all = await Promise.all(
      list.map(({ ModelPackageArn: ModelPackageName }) =>
        client.send(new DescribeModelPackageCommand({ ModelPackageName })),
      ),
    );
    const tag = (each: (typeof all)[number], key: string) => each.CustomerMetadataProperties?.[key] ?? '';
    return {
      inUse: all
        .filter(({ ModelApprovalStatus }) => ModelApprovalStatus === 'Approved')
        .map((each) => tag(each, 'tidewheel.run')),
      states: all
        .map((each) => [tag(each, 'tidewheel.run'), tag(each, 'tidewheel.state')] as const)
        // moto knows no tokens of clients, so a second process makes a second package, of which nothing is said.
        .filter(([, state]) => state !== '')
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    };
  };

const tagged = z.object({
  version: z.string(),
  tags: z.array(z.object({ key: z.string(), value: z.string() })),
});
const modelSchema = z.object({
  registered_model: z.object({ aliases: z.array(z.object({ alias: z.string(), version: z.string() })) }),
});

/** The champion is in use. */
export const shownInMlflow =
  (request: typeof fetch, server: string) =>
  async (pipeline: string): Promise<Shown> => {
    const ask = async (path: string, query: Readonly<Record<string, string>>): Promise<unknown> =>
      (await request(`${server}/api/2.0/mlflow/${path}?${new URLSearchParams(query).toString()}`)).json();
    const { registered_model } = modelSchema.parse(await ask('registered-models/get', { name: pipeline }));
    const champions = registered_model.aliases.map(({ alias, version }) => `${alias} ${version}`);
    const { model_versions: all } = z
      .object({ model_versions: z.array(tagged) })
      .parse(await ask('model-versions/search', { filter: `name='${pipeline}'` }));
    const tag = (each: (typeof all)[number], key: string) =>
      each.tags.find((of) => of.key === key)?.value ?? '';
    return {
      inUse: all
        .filter(({ version }) => champions.includes(`champion ${version}`))
        .map((each) => tag(each, 'tidewheel.run')),
      states: all
        .map((each) => [tag(each, 'tidewheel.run'), tag(each, 'tidewheel.state')] as const)
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
    };
  };

let pipelines = 0;

/** A pipeline whose decisions wait for their hand-over. */
export async function pipelineIn(world: RegistryWorld, at = ground(), name?: string) {
  pipelines += 1;
  const pipeline = name ?? `digits${pipelines}`;
  const { registries, promote = 'always', server = 'https://mlflow.test' } = world;
  const environment = { MLFLOW_TRACKING_URI: server };
  const objective = { metric: 'accuracy', mode: 'max' };
  const training = { strategy: 'ddp', environment, objective };
  const declared = { promote, registries, training };
  at.store.put(
    bucketKeys.pipeline(pipeline),
    stringify({ name: pipeline, compute: { instanceTypes: ['g5.xlarge'] }, ...declared }),
  );
  const runIds = (batch: number): string => runIdOf(pipeline, batch);
  let calls = 0;
  /** @param lastCall it ends after this one, before it knows the answer */
  const process = (lastCall = Infinity, turn: () => Promise<unknown> = () => Promise.resolve()) => {
    let made = 0;
    const guard = async <T>(perform: () => Promise<T>): Promise<T> => {
      made += 1;
      calls += 1;
      await turn();
      if (made > lastCall) throw new Error('the process ended');
      const answer = await perform();
      if (made === lastCall) throw new Error('the process ended');
      return answer;
    };
    const send = (command: never) => guard(() => world.sageMaker.send(command));
    const opened = openRegistries({
      sageMaker: () => ({ send }) as unknown as SageMakerClient,
      secrets: () => {
        throw new Error('no secret is declared');
      },
      fetch: (...given) => guard(() => world.fetch(...given)),
      stack: STACK,
    });
    return (messages: readonly PolledMessage[]) => {
      const waiting = [messages];
      const queue = { receive: async () => waiting.shift() ?? [], delete: async () => undefined };
      return drainHandOvers({ ...at, ...opened, queue });
    };
  };
  return {
    at,
    pipeline,
    runIds,
    process,
    calls: () => calls,
    shown: () => world.show(pipeline),
    record: async (batch: number) => {
      const key = `${bucketKeys.models(pipeline, runIds(batch))}model.tar.gz`;
      at.store.put(key, `model ${batch}`);
      at.store.put(bucketKeys.scores(pipeline, runIds(batch)), '{"key":"a","accuracy":0.5}\n');
      const declaration = declarationOf(pipeline, declared);
      const modelUri = s3Uri(at.store.bucket, key);
      const run = runOf(pipeline, batch, { status: 'succeeded', modelUri, declaration });
      await at.runs.create(run);
      await at.attempts.create(attemptOf(run.runId, 1));
      at.clock.advance(60);
      await recordModel(at, run, modelUri);
    },
    choose: (decision: Choice['decision'], batch: number, reason = 'by hand') => {
      at.clock.advance(60);
      const choice = { pipeline, decision, runId: runIds(batch), by: 'arn:ada', reason };
      return decideAsAsked(at, choice);
    },
    /** All so far, the oldest first. */
    messages: (): readonly PolledMessage[] =>
      at.notifier.notices.map(({ runId, notice: { type, ...detail } }, index) => ({
        messageId: `m${index}`,
        receipt: `m${index}`,
        receives: 1,
        body: JSON.stringify({ 'detail-type': type, detail: { pipeline, runId, ...detail } }),
      })),
  };
}

type InWorld = Awaited<ReturnType<typeof pipelineIn>>;

/** Two drops, and back to the first one. */
async function history({ record, choose }: InWorld): Promise<void> {
  await record(1);
  await record(2);
  await choose('rollback', 2);
}

const AFTER = (runIds: InWorld['runIds']): Shown => ({
  inUse: [runIds(1)],
  states: [
    [runIds(1), 'current'],
    [runIds(2), 'rejected'],
  ],
});

/** @returns how many processes died, each at another call, or at each so many */
export async function dieAtEachCall(world: RegistryWorld, every: number): Promise<number> {
  const whole = await pipelineIn(world);
  await history(whole);
  await whole.process()(whole.messages());
  let deaths = 0;
  for (let call = 1; call <= whole.calls(); call += every) {
    const on = await pipelineIn(world);
    await history(on);
    const messages = on.messages();
    const { failed } = await on.process(call)(messages);
    expect(failed.length, `death at call ${call}`).toBeGreaterThan(0);
    const again = failed.map(({ messageId }) => messageId);
    await on.process()(messages.filter(({ messageId }) => again.includes(messageId)));
    expect(await on.shown(), `death at call ${call}`).toEqual(AFTER(on.runIds));
    deaths += 1;
  }
  return deaths;
}

/**
 * @param open of a world that is not used yet
 * @param every death at each so many calls: real servers take their time
 */
export function registryContract(name: string, open: () => Promise<RegistryWorld>, every = 2) {
  describe(`${name} after hand-overs`, () => {
    it('follows each decision', async () => {
      const on = await pipelineIn(await open());
      await on.record(1);
      await on.process()(on.messages());
      expect(await on.shown()).toEqual({ inUse: [on.runIds(1)], states: [[on.runIds(1), 'current']] });
      await on.record(2);
      await on.process()(on.messages().slice(-1));
      await on.choose('rollback', 2);
      const { failed } = await on.process()(on.messages().slice(-1));
      expect(failed).toEqual([]);
      expect(await on.shown()).toEqual(AFTER(on.runIds));
      const entries = await on.at.timeline.list(on.runIds(2));
      expect(entries.filter(({ kind }) => kind === 'ModelHandedOver')).toMatchObject([
        { text: expect.stringMatching(/is version \d+ of .*, as current$/) },
        { text: expect.stringMatching(/, as rejected$/) },
      ]);
    });

    it('stands the same after doubled and late events', async () => {
      const on = await pipelineIn(await open());
      await history(on);
      const messages = on.messages();
      await on.process()(messages.toReversed());
      await on.process()(messages);
      await on.process()(messages.slice(0, 2));
      expect(await on.shown()).toEqual(AFTER(on.runIds));
    });

    it('stands the same after death at each call', async () => {
      expect(await dieAtEachCall(await open(), every)).toBeGreaterThan(0);
    });

    it.each([
      ['goes on', false],
      ['dies', true],
    ])('stands the same where a slow process %s', async (_, dies) => {
      const world = await open();
      for (let call = 1; ; call += Math.ceil(every / 10)) {
        const on = await pipelineIn(world);
        await on.record(1);
        await on.record(2);
        const early = on.messages();
        // It waits before one of its calls, until another process has followed all decisions.
        let calls = 0;
        const slowly = on.process(dies ? call : undefined, async () => {
          calls += 1;
          if (calls !== call) return;
          await on.record(3);
          await on.process()(on.messages());
        });
        const { failed } = await slowly(early.slice(-1));
        if (calls < call) break;
        await on.process()(early.slice(-1).filter(() => failed.length > 0));
        expect(await on.shown(), `slow at call ${call}`).toEqual({
          inUse: [on.runIds(3)],
          states: [
            [on.runIds(1), 'former'],
            [on.runIds(2), 'former'],
            [on.runIds(3), 'current'],
          ],
        });
      }
    });
  });
}
