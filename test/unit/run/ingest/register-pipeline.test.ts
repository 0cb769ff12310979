/** A declaration is put on record with its schedule, and both end when it is deleted. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { outdatedPipelines, registerPipeline } from '../../../../functions/run/ingest/register-pipeline.ts';
import { takeArrivals } from '../../../../functions/run/ingest/take-arrivals.ts';
import { wakeRun } from '../../../../functions/run/ingest/wake.ts';
import { runOf } from '../../../support/builders/records.ts';
import { created, DECLARATION, type Ground, ground, message } from '../../../support/world/ground.ts';

let at: Ground;
beforeEach(() => {
  at = ground();
  at.declare();
});

const AT = '2026-11-20T10:00:00.000Z';
const RUN = runOf('digits', 1);
const KEY = bucketKeys.pipeline('digits');
const declared = () => message(created(KEY, at.clock.now()));
const deleted = (key = KEY) =>
  message(created(key, at.clock.now()).replace('ObjectCreated:Put', 'ObjectRemoved:Delete'));

describe('a declaration that arrives', () => {
  it('is recorded with its schedule; wakes for earlier data', async () => {
    at.drop('early.png');
    at.declare(`${DECLARATION}schedule: rate(1 day)`);
    expect(await registerPipeline(at, 'digits')).toMatchObject({
      kind: 'valid',
      woken: { kind: 'started', runId: 'digits-000001' },
    });
    expect(at.schedules.expressions.get('digits')).toBe('rate(1 day)');
  });

  it.each([
    ['looked', 'of what it saw', 'ignored'],
    ['failed', undefined, 'started'],
  ])('wakes once for earlier data whose close has %s', async (_, seen, kind) => {
    at.drop('early.png');
    await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
    const remove = async () => {
      await at.runs.closeBatch(RUN, { at: at.clock.now().toISOString(), seen });
    };
    const registered = await registerPipeline({ ...at, schedules: { ...at.schedules, remove } }, 'digits');
    expect(registered).toMatchObject({ kind: 'valid', woken: { kind } });
  });

  it('wakes nothing when nothing lies there', async () => {
    expect(await registerPipeline(at, 'digits')).toEqual({ kind: 'valid' });
  });

  it('needs the notified marker, or a schedule', async () => {
    const notified = (notifiedMarker: string) => registerPipeline({ ...at, notifiedMarker }, 'digits');
    expect(await notified('_SUCCESS')).toEqual({ kind: 'valid' });
    expect(await notified('DONE')).toMatchObject({ kind: 'invalid', problems: [{ path: 'settle.marker' }] });
    at.declare(`${DECLARATION}schedule: rate(1 day)`);
    expect(await notified('DONE')).toEqual({ kind: 'valid' });
  });

  it('is kept with its problems and schedule when invalid', async () => {
    at.declare(`${DECLARATION}schedule: rate(1 day)`);
    await registerPipeline(at, 'digits');
    at.declare('name: letters');
    expect(await registerPipeline(at, 'digits')).toMatchObject({ kind: 'invalid' });
    const record = await at.pipelines.get('digits');
    expect(record?.valid).toBe(false);
    expect(record?.problems?.map(({ path }) => path)).toEqual(
      expect.arrayContaining(['name', 'training', 'compute']),
    );
    expect(at.schedules.expressions.has('digits')).toBe(true);
  });

  it('removes a schedule that it no longer has', async () => {
    at.declare(`${DECLARATION}schedule: rate(1 day)`);
    await registerPipeline(at, 'digits');
    at.declare();
    await registerPipeline(at, 'digits');
    expect(at.schedules.expressions.has('digits')).toBe(false);
  });

  it('is valid only once its schedule is set', async () => {
    at.declare(`${DECLARATION}schedule: rate(1 day)`);
    const put = () => Promise.reject(new Error('throttled'));
    const failing = { ...at, schedules: { ...at.schedules, put } };
    const taken = await takeArrivals(failing, [declared()]);
    expect(taken.failed).toMatchObject([{ reason: 'throttled' }]);
    expect(await at.pipelines.get('digits')).toMatchObject({ valid: false });
    // The message comes again.
    expect((await takeArrivals(at, [declared()])).failed).toEqual([]);
    expect(await at.pipelines.get('digits')).toMatchObject({ valid: true });
    expect(at.schedules.expressions.get('digits')).toBe('rate(1 day)');
  });

  it('is invalid with a schedule that Scheduler refuses', async () => {
    at.declare(`${DECLARATION}schedule: rate(1 day)`);
    const put = () =>
      Promise.resolve({ kind: 'refused' as const, reason: 'Invalid Schedule Expression rate(1 day).' });
    const refusing = { ...at, schedules: { ...at.schedules, put } };
    expect(await registerPipeline(refusing, 'digits')).toEqual({
      kind: 'invalid',
      problems: [{ path: 'schedule', message: expect.stringContaining('refuses: Invalid Sch') as string }],
    });
    expect(await at.pipelines.get('digits')).toMatchObject({ valid: false });
  });

  describe('whose schedule has only past dates', () => {
    const yearOf = (date: Date) => date.getUTCFullYear();
    const scheduled = (year: number) => `${DECLARATION}schedule: cron(0 3 * * ? ${year})`;

    it('is invalid each time, and sets no schedule', async () => {
      at.declare(scheduled(yearOf(at.clock.now()) - 1));
      for (const _ of ['first', 'repeated'])
        expect(await registerPipeline(at, 'digits')).toEqual({
          kind: 'invalid',
          problems: [
            { path: 'schedule', message: expect.stringContaining('all of its dates are before') as string },
          ],
        });
      expect(at.schedules.expressions.has('digits')).toBe(false);
    });

    it('stays valid where the dates passed later', async () => {
      at.declare(scheduled(yearOf(at.clock.now())));
      expect(await registerPipeline(at, 'digits')).toEqual({ kind: 'valid' });
      at.pass(400 * 86_400);
      // As after the loss of its record: the sweep registers it again.
      expect(await registerPipeline(at, 'digits')).toEqual({ kind: 'valid' });
      expect(await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' })).toMatchObject({
        kind: 'started',
      });
    });
  });

  it('says that it is gone', async () => {
    expect(await registerPipeline(at, 'unknown')).toEqual({ kind: 'gone' });
    expect(await at.pipelines.get('unknown')).toBeUndefined();
  });

  it('wakes again for data left by a bad declaration', async () => {
    at.drop('a.png');
    await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
    const run = await at.runs.get('digits-000001');
    if (run) await at.runs.closeBatch(run, { at: at.clock.now().toISOString() });
    expect(await registerPipeline(at, 'digits')).toMatchObject({
      kind: 'valid',
      woken: { runId: 'digits-000002' },
    });
  });
});

describe('a declaration that is deleted', () => {
  beforeEach(async () => {
    at.declare(`${DECLARATION}schedule: rate(1 day)`);
    await registerPipeline(at, 'digits');
    await at.store.delete(KEY);
  });

  it('ends the schedule and leaves the list', async () => {
    const taken = await takeArrivals(at, [deleted()]);
    expect(taken).toEqual({ failed: [], notes: ['pipeline digits is gone'] });
    expect(at.schedules.expressions.size).toBe(0);
    expect(await at.pipelines.list()).toEqual([]);
  });

  it('wakes no run any more', async () => {
    await takeArrivals(at, [deleted()]);
    for (const trigger of ['arrival', 'schedule'] as const)
      expect(await wakeRun(at, { pipeline: 'digits', trigger })).toMatchObject({ kind: 'ignored' });
  });

  it('goes on counting batches when declared again', async () => {
    await at.runs.create({ ...RUN, createdAt: AT, updatedAt: AT });
    await at.runs.closeBatch(RUN, { at: AT, seen: 'x' });
    await takeArrivals(at, [deleted()]);
    at.declare();
    await takeArrivals(at, [declared()]);
    expect(await at.pipelines.list()).toMatchObject([{ name: 'digits', valid: true, openBatch: 2 }]);
  });

  it('stays when an older version is deleted', async () => {
    at.declare(`${DECLARATION}schedule: rate(1 day)`);
    await takeArrivals(at, [deleted()]);
    expect(await at.pipelines.list()).toMatchObject([{ name: 'digits', valid: true }]);
    expect(at.schedules.expressions.has('digits')).toBe(true);
  });

  it('is not confused with deleted data', async () => {
    const taken = await takeArrivals(at, [deleted('digits/incoming/a.png')]);
    expect(taken.notes).toEqual(['ignored: ObjectRemoved:Delete is no arrival']);
    expect(at.executions.started.size).toBe(0);
  });
});

describe('pipelines whose events were lost', () => {
  it('are none while record and bucket agree', async () => {
    await registerPipeline(at, 'digits');
    expect(await outdatedPipelines(at)).toEqual([]);
  });

  it('are those whose schedule went with a stack', async () => {
    at.declare(`${DECLARATION}schedule: rate(1 day)`);
    await registerPipeline(at, 'digits');
    at.schedules.expressions.clear();
    expect(await outdatedPipelines(at)).toEqual(['digits']);
    await registerPipeline(at, 'digits');
    expect(at.schedules.expressions.get('digits')).toBe('rate(1 day)');
    expect(await outdatedPipelines(at)).toEqual([]);
  });

  it('are those that another release has checked', async () => {
    await registerPipeline(at, 'digits');
    at.rewrite('pipelines', 'digits', (item) => ({ ...item, checkedBy: '0.1.0', valid: false }));
    expect(await outdatedPipelines(at)).toEqual(['digits']);
    await registerPipeline(at, 'digits');
    expect(await at.pipelines.get('digits')).toMatchObject({ valid: true });
  });

  it('are new, changed and deleted ones', async () => {
    at.store.put(bucketKeys.pipeline('letters'), DECLARATION.replace('digits', 'letters'));
    await registerPipeline(at, 'letters');
    at.store.remove(bucketKeys.pipeline('letters'));
    at.store.put('pipelines/README.md', 'not a declaration');
    expect(await outdatedPipelines(at)).toEqual(['digits', 'letters']);
    await registerPipeline(at, 'digits');
    at.declare(`${DECLARATION}schedule: rate(1 day)`);
    expect(await outdatedPipelines(at)).toEqual(['digits', 'letters']);
  });
});
