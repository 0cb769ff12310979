/** What persons say of a run, and how lists of runs are searched by it. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ApiRequest } from '../../../functions/api/shared/answers.ts';
import { AT, declarationOf, runOf, secondsAfter } from '../../support/builders/records.ts';
import { askDescribed } from '../../support/described.ts';
import { type Ground, ground } from '../../support/world/ground.ts';

let at: Ground;
beforeEach(() => {
  at = ground();
});

const RUN = 'digits-000001';
const ask = (route: string, over?: Partial<ApiRequest>) => askDescribed(at, route, over);
const ofRun = (route: string, body = '') => ask(route, { parameters: { runId: RUN }, body, caller: 'ada' });
const acknowledge = () => ofRun('PUT /runs/{runId}/acknowledgement');
const annotate = (body: object) => ofRun('PUT /runs/{runId}/annotation', JSON.stringify(body));

describe('the acknowledgement of a failure', () => {
  it('names the first person, however often', async () => {
    await at.runs.create(runOf('digits', 1, { status: 'failed' }));
    const first = await acknowledge();
    expect(first).toMatchObject({ status: 200, body: { runId: RUN, requestedBy: 'ada' } });
    at.clock.advance(60);
    expect(await acknowledge()).toEqual(first);
  });

  it('is refused for a run that has not failed', async () => {
    await at.runs.create(runOf('digits', 1, { status: 'training' }));
    expect(await acknowledge()).toMatchObject({
      status: 409,
      body: { message: `${RUN} is training: only the failure of a run can be acknowledged` },
    });
  });

  it('ends with a retry', async () => {
    const run = runOf('digits', 1, { status: 'failed', declaration: declarationOf('digits'), source: 'a' });
    await at.runs.create(run);
    await acknowledge();
    const known = await at.runs.get(RUN);
    if (known === undefined) throw new Error('no run');
    const retry = { number: 1, at: AT, requestedBy: 'ada', attempts: 0 };
    await at.runs.reopen(known, { retry, declaration: run.declaration, source: run.source });
    expect((await at.runs.get(RUN))?.acknowledgement).toBeUndefined();
  });
});

describe('an annotation', () => {
  beforeEach(() => at.runs.create(runOf('digits', 1, { status: 'succeeded', closedAt: AT })));

  it('replaces the one before, and may take it out', async () => {
    expect(await annotate({ note: ' new ', tags: ['a', 'b', 'a'] })).toMatchObject({
      status: 200,
      body: { note: 'new', tags: ['a', 'b'] },
    });
    expect((await at.runs.get(RUN))?.annotation).toMatchObject({
      requestedBy: 'ada',
      note: 'new',
      tags: ['a', 'b'],
    });
    expect(await annotate({})).toMatchObject({ status: 200 });
    expect((await at.runs.get(RUN))?.annotation).toBeUndefined();
  });

  it('is refused with all that is wrong', async () => {
    const answer = await annotate({ note: 'x'.repeat(501), tags: ['two words'], color: 'red' });
    expect(answer.status).toBe(400);
    expect((answer.body as { problems: { path: string }[] }).problems.map(({ path }) => path).sort()).toEqual(
      ['', 'note', 'tags[0]'],
    );
  });

  it('waits for the close of the batch', async () => {
    await at.runs.update(RUN, { closedAt: undefined, updatedAt: AT });
    expect(await annotate({ note: 'new' })).toMatchObject({ status: 409 });
  });
});

describe('GET /runs with where', () => {
  const listed = async (where: string, query: Readonly<Record<string, string>> = {}) => {
    const { status, body } = await ask('GET /runs', { query: { where, ...query } });
    expect(status).toBe(200);
    return body as { runs: { runId: string }[]; nextToken?: string };
  };
  const idsOf = async (where: string, query = {}) =>
    (await listed(where, query)).runs.map(({ runId }) => Number(runId.slice(-3)));

  beforeEach(async () => {
    for (let number = 1; number <= 9; number += 1) {
      const accuracy = number / 10;
      await at.runs.create(
        runOf('digits', number, {
          status: 'succeeded',
          createdAt: secondsAfter(number),
          closedAt: AT,
          declaration: declarationOf('digits', {
            owner: number > 5 ? 'Vision' : 'text',
            tags: { team: number > 7 ? 'a' : 'b' },
            training: {
              strategy: 'ddp',
              hyperparameters: { lr: 0.1 ** number, mode: number > 5 ? 'x' : 'y' },
            },
          }),
          result: {
            finishedAt: AT,
            attempts: 1,
            interruptions: 0,
            lostSeconds: 0,
            isDeadlineMet: null,
            costUsd: number,
            onDemandUsd: 2 * number,
            metrics: { 'val/accuracy': accuracy, loss: null },
          },
        }),
      );
    }
  });

  it.each([
    ['val/accuracy > 0.7', [9, 8]],
    ['val/accuracy>=0.7 and cost < 9', [8, 7]],
    ['val/accuracy = 0.5', [5]],
    ['loss < 1', []],
    ['lr >= 0.01', [2, 1]],
    ['mode = x and mode != y AND val/accuracy <= 0.6', [6]],
    ['tag:team=a', [9, 8]],
    ['tag:team and digits-000003', [3]],
    ['vision succeeded 000006', [6]],
    ['nothing like that', []],
    ['', [9, 8, 7, 6, 5, 4, 3, 2, 1]],
  ])('%j finds %j', async (where, found) => {
    expect(await idsOf(where)).toEqual(found);
    expect(await idsOf(where, { pipeline: 'digits' })).toEqual(found);
  });

  it('goes on where the page before has ended', async () => {
    const first = await listed('val/accuracy > 0.3', { limit: '4' });
    expect(first.runs).toHaveLength(4);
    expect(await idsOf('val/accuracy > 0.3', { limit: '4', nextToken: first.nextToken ?? '' })).toEqual([
      5, 4,
    ]);
  });

  it('finds a run by its note', async () => {
    await annotate({ note: 'the Baseline', tags: ['kept'] });
    expect(await idsOf('baseline')).toEqual([1]);
    expect(await idsOf('tag:kept', { pipeline: 'digits' })).toEqual([1]);
  });
});
