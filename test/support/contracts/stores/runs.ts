/** What every RunStore does; the close of a batch changes the pipeline as well. */

import { deadlineHoursOf, runPartsOf } from '@tidewheel/declaration/pipeline.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import { expect, it } from 'vitest';
import type { BegunQuery, Stores } from '../../../../functions/records/stores.ts';
import { AT, declarationOf, requestOf, runOf, secondsAfter } from '../../builders/records.ts';
import { raced } from './raced.ts';

const LATER = secondsAfter(60);

export function runStoreContract(open: () => Promise<Pick<Stores, 'runs' | 'pipelines'>>): void {
  it('creates a run once, however many try', async () => {
    const { runs } = await open();
    const tally = await raced(12, (index) =>
      runs.create(runOf('run-race', 1, { createdAt: secondsAfter(index) })),
    );
    expect(tally).toEqual({ created: 1, exists: 11 });
    expect(await runs.create(runOf('run-race', 1, { execution: 7 }))).toBe('exists');
    expect((await runs.get('run-race-000001'))?.execution).toBe(1);
  });

  it('returns a record without attributes of the table', async () => {
    const { runs } = await open();
    const run = runOf('run-bare', 1);
    await runs.create(run);
    expect(await runs.get(run.runId)).toEqual(run);
    expect(Object.keys((await runs.get(run.runId)) ?? {}).sort()).toEqual(Object.keys(run).sort());
  });

  it('changes given fields and removes undefined ones', async () => {
    const { runs } = await open();
    await runs.create(runOf('run-change', 1, { failure: 'old', generation: 'g' }));
    const changed = await runs.update('run-change-000001', {
      status: 'training',
      failure: undefined,
      updatedAt: LATER,
    });
    expect(changed).toMatchObject({ status: 'training', generation: 'g', updatedAt: LATER, createdAt: AT });
    expect(changed.failure).toBeUndefined();
    expect(await runs.get('run-change-000001')).toEqual(changed);
  });

  it('throws RunNotFoundError for a change of an unknown run', async () => {
    const { runs } = await open();
    const change = runs.update('run-none-000001', { updatedAt: AT });
    await expect(change).rejects.toMatchObject({ name: 'RunNotFoundError' });
    expect(await runs.get('run-none-000001')).toBeUndefined();
  });

  it("lists a pipeline's newest runs up to the limit", async () => {
    const { runs } = await open();
    for (const batch of [2, 1, 10, 3]) await runs.create(runOf('run-list', batch));
    await runs.create(runOf('run-listed', 1));
    const batchesOf = async (limit: number) => (await runs.list('run-list', limit)).map((run) => run.batch);
    expect(await batchesOf(10)).toEqual([10, 3, 2, 1]);
    expect(await batchesOf(2)).toEqual([10, 3]);
  });

  it('lists runs older than a given one', async () => {
    const { runs } = await open();
    for (const batch of [1, 2, 9, 10]) await runs.create(runOf('run-older', batch));
    const before = async (runId: string, limit: number) =>
      (await runs.list('run-older', limit, runId)).map((run) => run.batch);
    expect(await before('run-older-000010', 10)).toEqual([9, 2, 1]);
    expect(await before('run-older-000010', 2)).toEqual([9, 2]);
    expect(await before('run-older-000005', 10)).toEqual([2, 1]);
    expect(await before('run-older-000001', 10)).toEqual([]);
  });

  it('lists runs of all pipelines, newest first', async () => {
    const { runs } = await open();
    const day = (text: string) => ({ createdAt: `${text}T08:00:00.000Z` });
    await runs.create(runOf('begun-b', 1, day('2019-12-31')));
    await runs.create(runOf('begun-a', 1, day('2020-01-01')));
    await runs.create(runOf('begun-a', 2, day('2020-03-05')));
    await runs.create(runOf('begun-b', 2, { ...day('2020-03-05'), probe: { number: 1 } }));
    const idsOf = async (wanted: Partial<BegunQuery>) =>
      (await runs.listBegun({ limit: 10, since: '2019-12-01', before: '2020-03-09', ...wanted })).runs.map(
        ({ runId }) => runId,
      );
    expect(await idsOf({})).toEqual(['begun-a-000002', 'begun-a-000001', 'begun-b-000001']);
    expect(await idsOf({ probes: true, limit: 2 })).toEqual(['begun-b-000002', 'begun-a-000002']);
    expect(await idsOf({ before: '2020-03-05T08:00:00.000Z begun-a-000002', limit: 1 })).toEqual([
      'begun-a-000001',
    ]);
    expect(await idsOf({ since: '2020-01-01T09:00+01:00' })).toEqual(['begun-a-000002', 'begun-a-000001']);
    await runs.update('begun-a-000001', { status: 'failed', updatedAt: LATER });
    expect(await idsOf({ statuses: ['failed', 'stopped'] })).toEqual(['begun-a-000001']);
  });

  it("lists what a run's declaration says of it", async () => {
    const { runs, pipelines } = await open();
    const run = runOf('begun-said', 1, { createdAt: '2018-05-01T08:00:00.000Z' });
    await pipelines.ensure('begun-said', { firstBatch: 1, at: AT });
    await runs.create(run);
    const listed = async () => (await runs.listBegun({ limit: 1, before: '2018-06' })).runs[0];
    expect(await listed()).toEqual(run);
    const declaration = { ...declarationOf('begun-said'), owner: 'ada' };
    const closed = await runs.closeBatch(run, { at: LATER, declaration });
    const { declaration: _, ...shown } = closed;
    expect(await listed()).toEqual({
      ...shown,
      listed: { deadlineHours: deadlineHoursOf(declaration.limits), owner: 'ada', hyperparameters: {} },
    });
    expect(await runs.get(run.runId)).toEqual(closed);
  });

  it('lists what a person said, whatever changes later', async () => {
    const { runs, pipelines } = await open();
    const run = runOf('begun-noted', 1, { createdAt: '2017-05-01T08:00:00.000Z' });
    await pipelines.ensure('begun-noted', { firstBatch: 1, at: AT });
    await runs.create(run);
    const declaration = declarationOf('begun-noted');
    const closed = await runs.closeBatch(run, { at: LATER, declaration });
    const annotation = { at: LATER, requestedBy: 'ada', note: 'good', tags: ['baseline'] };
    const noted = await runs.annotate(closed, { annotation });
    expect(noted).toEqual({ ...closed, annotation });
    const said = async () =>
      (await runs.listBegun({ limit: 1, before: '2017-06' })).runs[0]?.listed?.annotation;
    expect(await said()).toEqual(annotation);
    await runs.update(run.runId, { declaration: { ...declaration, owner: 'bob' }, updatedAt: LATER });
    expect(await said()).toEqual(annotation);
    await runs.annotate(noted, { annotation: undefined });
    expect(await said()).toBeUndefined();
    await expect(runs.annotate(runOf('begun-noted', 9), { annotation })).rejects.toThrow(
      'begun-noted-000009',
    );
  });

  it('lists open runs until they are finished', async () => {
    const { runs } = await open();
    const isOpen = async () => (await runs.listOpen()).some((run) => run.pipeline === 'run-open');
    await runs.create(runOf('run-open', 1));
    for (const status of ['packing', 'placing', 'training'] as const) {
      await runs.update('run-open-000001', { status, updatedAt: AT });
      expect(await isOpen()).toBe(true);
    }
    await runs.update('run-open-000001', { status: 'failed', updatedAt: LATER });
    expect(await isOpen()).toBe(false);
    // One that comes back from its report.
    await runs.create(runOf('run-open', 2, { status: 'failed' }));
    expect(await isOpen()).toBe(false);
    expect((await runs.listKept()).map(({ runId }) => runId)).toContain('run-open-000002');
  });

  it('lists finished runs until they have expired', async () => {
    const { runs } = await open();
    const kept = async () => (await runs.listKept()).find((run) => run.pipeline === 'run-kept');
    await runs.create(runOf('run-kept', 1));
    expect(await kept()).toBeUndefined();
    const done = await runs.update('run-kept-000001', { status: 'succeeded', updatedAt: LATER });
    expect(await kept()).toEqual(done);
    await runs.setExpired('run-kept-000001', { expired: ['work'], isComplete: false });
    expect(await kept()).toEqual({ ...done, expired: ['work'] });
    await runs.setExpired('run-kept-000001', {
      expired: ['work', 'checkpoints', 'source'],
      isComplete: true,
    });
    expect(await kept()).toBeUndefined();
    expect((await runs.get('run-kept-000001'))?.updatedAt).toBe(LATER);
  });

  it('opens an ended run again, once', async () => {
    const { runs } = await open();
    await runs.create(runOf('run-again', 1, { stop: undefined }));
    const ended = await runs.finish(runOf('run-again', 1), {
      status: 'failed',
      failure: 'no',
      updatedAt: AT,
    });
    expect(ended).toMatchObject({ status: 'failed', failure: 'no' });
    const retry = { number: 1, at: LATER, requestedBy: 'ada', attempts: 2 };
    const change = { retry, declaration: declarationOf('run-again'), source: undefined };
    const answers = await Promise.all([runs.reopen(ended, change), runs.reopen(ended, change)]);
    expect(answers.filter((each) => each !== undefined)).toHaveLength(1);
    const opened = await runs.get('run-again-000001');
    expect(opened).toMatchObject({ status: 'placing', execution: 2, retry, updatedAt: LATER });
    expect(opened?.failure).toBeUndefined();
    expect((await runs.listOpen()).some(({ runId }) => runId === 'run-again-000001')).toBe(true);
    expect((await runs.listKept()).some(({ runId }) => runId === 'run-again-000001')).toBe(false);
  });

  it('keeps a reopened run open for late writers', async () => {
    const { runs } = await open();
    await runs.create(runOf('run-late', 1));
    const end = { status: 'failed', failure: 'no', updatedAt: AT } as const;
    const ended = await runs.finish(runOf('run-late', 1), end);
    const retry = { number: 1, at: LATER, requestedBy: 'ada', attempts: 0 };
    await runs.reopen(ended, { retry, declaration: declarationOf('run-late'), source: undefined });
    expect(await runs.finish(runOf('run-late', 1), end)).toMatchObject({ status: 'placing' });
    await runs.setExpired('run-late-000001', { expired: ['work'], isComplete: true });
    expect((await runs.listOpen()).some(({ runId }) => runId === 'run-late-000001')).toBe(true);
    const done = await runs.finish(runOf('run-late', 1, { retry }), { ...end, status: 'succeeded' });
    expect(done).toMatchObject({ status: 'succeeded' });
    expect((await runs.listOpen()).some(({ runId }) => runId === 'run-late-000001')).toBe(false);
  });

  it('keeps the first stop, and sharpens it', async () => {
    const { runs } = await open();
    await runs.create(runOf('run-stop', 1));
    const id = 'run-stop-000001';
    const request = (mode: 'afterSave' | 'now', by: string, at: string) =>
      runs.requestStop(id, { mode, requestedBy: by, at });
    const first = { mode: 'afterSave', requestedBy: 'ada', at: LATER, execution: 1 };
    expect(await request('afterSave', 'ada', LATER)).toMatchObject({ stop: first, updatedAt: LATER });
    expect((await request('afterSave', 'bob', AT)).stop).toEqual(first);
    await runs.update(id, { execution: 2, updatedAt: LATER });
    const sharp = { mode: 'now', requestedBy: 'bob', at: LATER, execution: 1 };
    expect((await request('now', 'bob', LATER)).stop).toEqual(sharp);
    expect((await request('afterSave', 'ada', AT)).stop).toEqual(sharp);
    expect(await runs.get(id)).toMatchObject({ stop: sharp, execution: 2 });
  });

  it('records one of many stops at once', async () => {
    const { runs } = await open();
    await runs.create(runOf('run-stops', 1));
    const by = await raced(8, async (index) => {
      const asked = { mode: 'now', requestedBy: `person-${index}`, at: LATER } as const;
      return (await runs.requestStop('run-stops-000001', asked)).stop?.requestedBy ?? 'none';
    });
    expect(Object.values(by)).toEqual([8]);
  });

  it('records no stop of an ended or unknown run', async () => {
    const { runs } = await open();
    await runs.create(runOf('run-over', 1));
    await runs.update('run-over-000001', { status: 'failed', updatedAt: LATER });
    const request = { mode: 'now', requestedBy: 'ada', at: LATER } as const;
    expect((await runs.requestStop('run-over-000001', request)).stop).toBeUndefined();
    await expect(runs.requestStop('run-none-000001', request)).rejects.toMatchObject({
      name: 'RunNotFoundError',
    });
  });

  it('lists more open runs than one page holds', async () => {
    const { runs } = await open();
    // 60 runs of 30 kB are more than the 1 MB that one Query answers.
    const failure = 'x'.repeat(30_000);
    const batches = Array.from({ length: 60 }, (_, index) => index + 1);
    await Promise.all(batches.map((batch) => runs.create(runOf('run-pages', batch, { failure }))));
    const listed = (await runs.listOpen()).filter((run) => run.pipeline === 'run-pages');
    expect(listed.map((run) => run.batch).sort((a, b) => a - b)).toEqual(batches);
    expect(await runs.list('run-pages', 55)).toHaveLength(55);
  }, 60_000);

  it('pins the declaration and opens the next batch', async () => {
    const { pipelines, runs } = await open();
    await pipelines.ensure('close-a', { firstBatch: 1, at: AT });
    const run = runOf('close-a', 1);
    await runs.create(run);
    const closed = await runs.closeBatch(run, { at: LATER, declaration: declarationOf('close-a') });
    expect(closed).toMatchObject({ closedAt: LATER, status: 'packing', declaration: { name: 'close-a' } });
    expect(await runs.get(run.runId)).toEqual(closed);
    expect(await pipelines.get('close-a')).toMatchObject({ openBatch: 2, closedAt: LATER });
  });

  it('keeps `seen` until a close without it', async () => {
    const { pipelines, runs } = await open();
    await pipelines.ensure('close-seen', { firstBatch: 1, at: AT });
    for (const batch of [1, 2]) await runs.create(runOf('close-seen', batch));
    const declaration = declarationOf('close-seen');
    await runs.closeBatch(runOf('close-seen', 1), { at: LATER, declaration, seen: 'a1b2' });
    expect((await pipelines.get('close-seen'))?.seen).toBe('a1b2');
    await runs.closeBatch(runOf('close-seen', 2), { at: LATER });
    expect((await pipelines.get('close-seen'))?.seen).toBeUndefined();
  });

  it('keeps what it knows of a large folder', async () => {
    const { pipelines, runs } = await open();
    await pipelines.ensure('close-noted', { firstBatch: 1, at: AT });
    for (const batch of [1, 2, 3]) await runs.create(runOf('close-noted', batch));
    const declaration = declarationOf('close-noted');
    const notified = { since: AT, listedAt: AT, closedAt: LATER };
    const closed = await runs.closeBatch(runOf('close-noted', 1), { at: LATER, declaration, notified });
    expect(closed.notifiedSince).toBe(AT);
    expect((await pipelines.get('close-noted'))?.notified).toEqual(notified);
    // A run that never settled knows nothing of the folder.
    const failed = await runs.closeBatch(runOf('close-noted', 2), { at: secondsAfter(2_000) });
    expect(failed.notifiedSince).toBeUndefined();
    expect((await pipelines.get('close-noted'))?.notified).toEqual(notified);
    await runs.closeBatch(runOf('close-noted', 3), { at: secondsAfter(3_000), declaration, seen: 'x' });
    expect((await pipelines.get('close-noted'))?.notified).toBeUndefined();
  });

  it('changes nothing at a second close of a batch', async () => {
    const { pipelines, runs } = await open();
    await pipelines.ensure('close-b', { firstBatch: 1, at: AT });
    const run = runOf('close-b', 1);
    await runs.create(run);
    const first = await runs.closeBatch(run, { at: LATER, declaration: declarationOf('close-b') });
    const other = declarationOf('close-b', { limits: { attempts: 1 } });
    expect(await runs.closeBatch(run, { at: secondsAfter(999), declaration: other })).toEqual(first);
    expect(await pipelines.get('close-b')).toMatchObject({ openBatch: 2, closedAt: LATER });
  });

  it('closes a batch once, however many try', async () => {
    const { pipelines, runs } = await open();
    await pipelines.ensure('close-c', { firstBatch: 1, at: AT });
    const run = runOf('close-c', 1);
    await runs.create(run);
    const tries = Array.from({ length: 8 }, (_, index) =>
      runs.closeBatch(run, { at: secondsAfter(index + 1), declaration: declarationOf('close-c') }),
    );
    // A conflict of transactions may be thrown, as something to try again; it is no second close.
    const answers = (await Promise.allSettled(tries)).flatMap((each) =>
      each.status === 'fulfilled' ? [each.value] : [],
    );
    expect(answers.length).toBeGreaterThan(0);
    const pipeline = await pipelines.get('close-c');
    expect(pipeline?.openBatch).toBe(2);
    expect(new Set([...answers.map((each) => each.closedAt), pipeline?.closedAt]).size).toBe(1);
  });

  it("closes a failed run's batch without a declaration", async () => {
    const { pipelines, runs } = await open();
    await pipelines.ensure('close-d', { firstBatch: 4, at: AT });
    const run = runOf('close-d', 4);
    await runs.create(run);
    const closed = await runs.closeBatch(run, { at: LATER });
    expect(closed).toMatchObject({ closedAt: LATER, status: 'settling' });
    expect(closed.declaration).toBeUndefined();
    expect((await pipelines.get('close-d'))?.openBatch).toBe(5);
  });

  it('takes one of two requests of another shape', async () => {
    const { runs } = await open();
    await runs.create(runOf('ask-race', 1));
    const parts = runPartsOf(declarationOf('ask-race', { limits: { budgetUsd: 0.1 } }));
    const asked = requestOf({ changed: ['limits.budgetUsd'], parts });
    const tally = await raced(
      6,
      async (index) => (await runs.requestRun('ask-race-000001', index % 2 === 0 ? asked : requestOf())).kind,
    );
    expect(tally).toEqual({ write: 1, same: 2, other: 3 });
    expect(await runs.get('ask-race-000001')).toMatchObject({ trigger: 'api', updatedAt: AT });
  });

  it('keeps the tokens of all calls that ask alike', async () => {
    const { runs } = await open();
    await runs.create(runOf('ask-alike', 1, { request: requestOf({ tokens: ['a'] }) }));
    await raced(
      3,
      async (index) => (await runs.requestRun('ask-alike-000001', requestOf({ tokens: [`b${index}`] }))).kind,
    );
    const { request } = (await runs.get('ask-alike-000001')) ?? {};
    expect(request?.tokens.toSorted()).toEqual(['a', 'b0', 'b1', 'b2']);
    expect((await runs.requestRun('ask-alike-000001', requestOf({ tokens: ['b1'] }))).kind).toBe('same');
  });

  it('closes no batch over a request that it missed', async () => {
    const { pipelines, runs } = await open();
    await pipelines.ensure('ask-close', { firstBatch: 1, at: AT });
    const read = runOf('ask-close', 1);
    await runs.create(read);
    const { run } = await runs.requestRun(read.runId, requestOf());
    const declaration = declarationOf('ask-close');
    await expect(runs.closeBatch(read, { at: LATER, declaration })).rejects.toThrow(TransientError);
    expect((await pipelines.get('ask-close'))?.openBatch).toBe(1);
    const request = requestOf({ again: 'ask-close-000000' });
    const closed = await runs.closeBatch(run, { at: LATER, declaration, request, source: 'f0' });
    expect(closed).toMatchObject({ request, source: 'f0', closedAt: LATER });
    expect((await runs.requestRun(read.runId, requestOf({ tokens: ['c'] }))).kind).toBe('closed');
  });

  it('takes no request for a run that stops', async () => {
    const { runs } = await open();
    await runs.create(runOf('ask-stop', 1));
    await runs.requestStop('ask-stop-000001', { mode: 'now', at: LATER, requestedBy: 'ada' });
    expect((await runs.requestRun('ask-stop-000001', requestOf())).kind).toBe('stopping');
  });

  it('throws RunNotFoundError for a request of an unknown run', async () => {
    const { runs } = await open();
    const asked = runs.requestRun('ask-none-000001', requestOf());
    await expect(asked).rejects.toMatchObject({ name: 'RunNotFoundError' });
  });
}
