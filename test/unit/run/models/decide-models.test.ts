/** Decisions on models: one outcome in any order, and a file that never names what was not decided. */

import { bucketKeys, runIdOf, s3Uri } from '@tidewheel/contract/bucket-keys.ts';
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  currentFileOf,
  currentOf,
  decideModel,
  formerOf,
  type PipelineModels,
  withModel,
} from '../../../../functions/records/models.ts';
import { type Choice, decideAsAsked } from '../../../../functions/run/models/choose-model.ts';
import { modelsOf, publishModels, recordModel } from '../../../../functions/run/models/decide-models.ts';
import { declarationOf, runOf } from '../../../support/builders/records.ts';
import { type Ground, ground } from '../../../support/world/ground.ts';

const PIPELINE = 'digits';
const FILE = bucketKeys.currentModel(PIPELINE);
let at: Ground;
beforeEach(() => {
  at = ground();
});

const uriOf = (batch: number): string =>
  s3Uri(at.store.bucket, `${bucketKeys.models(PIPELINE, runIdOf(PIPELINE, batch))}job/output/model.tar.gz`);

/** A run that has ended, with its model in the bucket. */
async function ended(batch: number, promote?: 'always' | 'byHand' | 'never', content = `model ${batch}`) {
  const modelUri = uriOf(batch);
  at.store.put(modelUri.slice(s3Uri(at.store.bucket, '').length), content);
  const declaration = { ...declarationOf(PIPELINE), ...(promote && { promote }) };
  const run = runOf(PIPELINE, batch, { status: 'succeeded', modelUri, declaration });
  await at.runs.create(run);
  return run;
}

const record = async (batch: number, promote?: 'always' | 'byHand' | 'never') =>
  recordModel(at, await ended(batch, promote), uriOf(batch));
const choose = (decision: Choice['decision'], batch: number, deps = at) =>
  decideAsAsked(deps, {
    pipeline: PIPELINE,
    decision,
    runId: runIdOf(PIPELINE, batch),
    by: 'arn:ada',
    reason: 'measured on paper',
  });
const known = async (): Promise<PipelineModels> => (await modelsOf(at, PIPELINE)).known;
const states = async () =>
  Object.fromEntries((await known()).models.map(({ runId, state }) => [Number(runId.slice(-6)), state]));
const fileNumber = (): unknown => Object(at.store.json(FILE)).number;

describe('the model of a run', () => {
  it('leaves no trace where nothing is promoted', async () => {
    await record(1);
    expect(await at.models.get(PIPELINE)).toBeUndefined();
    expect(at.store.keys(FILE)).toEqual([]);
  });

  it('replaces the one in use with promote: always', async () => {
    await record(1, 'always');
    await record(2, 'always');
    expect(await states()).toEqual({ 1: 'former', 2: 'current' });
    expect(at.store.json(FILE)).toMatchObject({
      version: 1,
      number: 2,
      current: {
        runId: 'digits-000002',
        uri: uriOf(2),
        digest: expect.stringMatching(/^[0-9a-f]{64}$/),
        bytes: 7,
        by: 'digits-000002',
      },
      former: { runId: 'digits-000001' },
    });
    expect(at.notifier.notices.map(({ notice }) => notice.type)).toEqual([
      'ModelEvaluated',
      'ModelPromoted',
      'ModelEvaluated',
      'ModelPromoted',
    ]);
    expect((await at.timeline.list('digits-000002')).map(({ text }) => text)).toEqual([
      'the model of digits-000002 is in use, instead of that of digits-000001 (digits-000002: promote: always)',
    ]);
  });

  it('waits for a person with promote: byHand', async () => {
    await record(1, 'byHand');
    await record(2, 'byHand');
    expect(await states()).toEqual({ 1: 'current', 2: 'candidate' });
    expect(at.notifier.notices.at(-1)?.notice).toMatchObject({
      type: 'ModelEvaluated',
      decision: 'waits',
    });
    expect(await choose('promote', 2)).toEqual({ kind: 'changed' });
    expect(await states()).toEqual({ 1: 'former', 2: 'current' });
  });

  it('always waits with promote: never', async () => {
    await record(1, 'never');
    expect(await states()).toEqual({ 1: 'candidate' });
    expect(at.store.keys(FILE)).toEqual([]);
  });

  it('of an older drop replaces no newer one', async () => {
    await record(2, 'always');
    await record(1, 'always');
    expect(await states()).toEqual({ 1: 'candidate', 2: 'current' });
  });

  it.each([
    [{ bytes: undefined }, 'nothing is at s3://b/m'],
    [{ bytes: 0 }, 's3://b/m is empty'],
  ])('with %j is rejected', (over, reason) => {
    const candidate = { runId: 'digits-000001', uri: 's3://b/m', ...over };
    expect(decideModel({ promote: 'always', candidate, current: undefined })).toEqual({
      kind: 'reject',
      reason,
    });
  });

  it('is recorded once, however often the run reports', async () => {
    const run = await ended(1, 'always');
    for (let turn = 0; turn < 3; turn += 1) await recordModel(at, run, uriOf(1));
    expect(await known()).toMatchObject({ number: 1 });
    expect(at.notifier.notices).toHaveLength(2);
  });
});

describe('a person', () => {
  beforeEach(async () => {
    for (const batch of [1, 2, 3]) await record(batch, 'always');
  });

  it('goes back, and back again', async () => {
    expect(await choose('rollback', 3)).toEqual({ kind: 'changed' });
    expect(await states()).toEqual({ 1: 'former', 2: 'current', 3: 'rejected' });
    expect(await choose('rollback', 3)).toEqual({ kind: 'same' });
    expect(await choose('rollback', 2)).toEqual({ kind: 'changed' });
    expect(await choose('rollback', 1)).toMatchObject({ kind: 'refused', why: /no former model/ });
    expect(await states()).toEqual({ 1: 'current', 2: 'rejected', 3: 'rejected' });
    expect(at.notifier.notices.at(-1)).toMatchObject({
      runId: 'digits-000001',
      notice: { type: 'ModelRolledBack', from: 'digits-000002', by: 'arn:ada', reason: 'measured on paper' },
    });
  });

  it('rejects none that is in use', async () => {
    expect(await choose('reject', 3)).toMatchObject({ kind: 'refused', why: /is in use/ });
    expect(await choose('reject', 2)).toEqual({ kind: 'changed' });
    expect(await choose('rollback', 3)).toEqual({ kind: 'changed' });
    expect(await states()).toEqual({ 1: 'current', 2: 'rejected', 3: 'rejected' });
  });

  it('promotes a model that is not on record', async () => {
    await ended(4);
    expect(await choose('promote', 4)).toEqual({ kind: 'changed' });
    expect(await states()).toMatchObject({ 3: 'former', 4: 'current' });
  });

  it.each([
    ['promote', 9, /has left no model/],
    ['rollback', 2, /digits-000002 is not in use: digits-000003 is/],
  ] as const)('cannot %s run %d', async (decision, batch, why) => {
    expect(await choose(decision, batch)).toMatchObject({ kind: 'refused', why });
  });

  it('cannot go back to a lost or changed archive', async () => {
    const key = uriOf(2).slice(s3Uri(at.store.bucket, '').length);
    at.store.put(key, 'other bytes');
    expect(await choose('rollback', 3)).toMatchObject({ kind: 'refused', why: /was replaced/ });
    at.store.put(key, '');
    expect(await choose('promote', 2)).toMatchObject({ kind: 'refused', why: /is empty/ });
    at.store.remove(key);
    expect(await choose('rollback', 3)).toMatchObject({ kind: 'refused', why: /is gone/ });
    await recordModel(
      at,
      runOf(PIPELINE, 8, { declaration: { ...declarationOf(PIPELINE), promote: 'always' } }),
      uriOf(8),
    );
    expect(await states()).toMatchObject({ 3: 'current', 8: 'rejected' });
    expect(await choose('promote', 8)).toMatchObject({ kind: 'refused', why: /is gone/ });
  });
});

it('a lost table goes on from the file', async () => {
  for (const batch of [1, 2]) await record(batch, 'always');
  at.lose();
  expect(await known()).toMatchObject({ number: 2, models: [{ state: 'current' }, { state: 'former' }] });
  expect(await choose('rollback', 2)).toEqual({ kind: 'changed' });
  expect(at.store.json(FILE)).toMatchObject({ number: 3, current: { runId: 'digits-000001' } });
});

it('keeps the models in use, however many come after', () => {
  let models: PipelineModels = { pipeline: PIPELINE, number: 0, models: [], news: [] };
  for (let batch = 1; batch < 210; batch += 1) {
    const runId = runIdOf(PIPELINE, batch);
    const verdict = batch < 3 ? 'promote' : 'wait';
    const decision = { verdict, at: '2026-11-29T00:00:00Z', by: runId, reason: 'x' } as const;
    const change = withModel(models, { runId, uri: 's3://b/m', bytes: 1 }, decision);
    if (change.kind === 'changed') models = { ...change.models, news: [] };
  }
  expect(models.models).toHaveLength(202);
  expect([currentOf(models)?.runId, formerOf(models)?.runId]).toEqual(['digits-000002', 'digits-000001']);
});

describe('processes at once', () => {
  /** Every call waits for its turn, and some processes die before or after one of their calls. */
  function process(
    scheduler: fc.Scheduler,
    death: { readonly call: number; readonly after: boolean } | undefined,
  ) {
    let calls = 0;
    const dying = <T extends object>(port: T): T =>
      new Proxy(port, {
        get: (target, name): unknown => {
          const member: unknown = Reflect.get(target, name);
          if (typeof member !== 'function' || name === 'list') return member;
          return async (...given: unknown[]) => {
            calls += 1;
            const dies = calls === death?.call;
            await scheduler.schedule(Promise.resolve());
            if (dies && !death?.after) throw new Error('the process ended');
            const result: unknown = await Reflect.apply(member, target, given);
            if (dies) throw new Error('the process ended');
            return result;
          };
        },
      });
    const { store, models, timeline, notifier } = at;
    return {
      ...at,
      store: dying(store),
      models: dying(models),
      timeline: dying(timeline),
      notifier: dying(notifier),
    };
  }

  const deaths = fc.option(fc.record({ call: fc.integer({ min: 1, max: 12 }), after: fc.boolean() }), {
    nil: undefined,
  });

  it('decide one after the other, and publish all', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.scheduler(),
        fc.array(deaths, { minLength: 5, maxLength: 5 }),
        async (scheduler, ends) => {
          at = ground();
          await record(1, 'always');
          await record(2, 'always');
          const [third, fourth] = [await ended(3, 'always'), await ended(4, 'always')];
          const decided = [await known()];
          const files: unknown[] = [];
          const { models: allModels, store: allObjects } = at;
          at = {
            ...at,
            models: {
              ...at.models,
              put: async (models, before) => {
                const isPut = await allModels.put(models, before);
                if (isPut) decided.push(models);
                return isPut;
              },
            },
            store: {
              ...at.store,
              replaceText: async (key, text, etag) => {
                const written = await allObjects.replaceText(key, text, etag);
                if (written === 'written') files.push(JSON.parse(text));
                return written;
              },
            },
          };
          const deps = ends.map((death) => process(scheduler, death));
          const of = (index: number) => deps[index] ?? at;
          const works = [
            recordModel(of(0), third, uriOf(3)),
            recordModel(of(1), fourth, uriOf(4)),
            choose('promote', 1, of(2)),
            choose('rollback', 2, of(3)),
            publishModels(of(4), PIPELINE),
          ].map((work) => work.catch(() => undefined));
          await scheduler.waitFor(Promise.all(works));

          // Each file is a decision that was taken before, and no later file is an older one.
          const numbers = files.map((file) => Object(file).number as number);
          expect(numbers).toEqual([...new Set(numbers)].toSorted((a, b) => a - b));
          for (const file of files)
            expect(decided.map((models) => JSON.parse(JSON.stringify(currentFileOf(models))))).toContainEqual(
              file,
            );
          // Reports that died are repeated, and the next pass tells the rest.
          await recordModel(at, third, uriOf(3));
          await recordModel(at, fourth, uriOf(4));
          await publishModels(at, PIPELINE);
          const models = await known();
          expect(models.news).toEqual([]);
          expect(models.models.filter(({ state }) => state === 'current')).toHaveLength(1);
          expect(fileNumber()).toBe(models.number);
          expect(models.number).toBe(decided.length + 1);
          const events = at.notifier.notices.map(({ notice }) => ('number' in notice ? notice.number : 0));
          const news = decided.flatMap((each) => each.news);
          expect(new Set(events)).toEqual(new Set([1, 2, ...news.map(({ number }) => number)]));
        },
      ),
      { numRuns: 60 },
    );
  }, 60_000);
});
