/** Large folders are listed once a day. In between, runs follow notifications. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { requestRun } from '../../../../functions/run/ingest/request-run.ts';
import { restoreRuns } from '../../../../functions/run/ingest/restore-runs.ts';
import { lookAtIncoming, settleRun } from '../../../../functions/run/ingest/settle-run.ts';
import { sweepPipeline } from '../../../../functions/run/ingest/sweep.ts';
import { takeArrivals } from '../../../../functions/run/ingest/take-arrivals.ts';
import { wakeRun } from '../../../../functions/run/ingest/wake.ts';
import { declarationOf, requestOf, runOf } from '../../../support/builders/records.ts';
import { memoryStores } from '../../../support/fakes/stores.ts';
import { created, DECLARATION, type Ground, ground } from '../../../support/world/ground.ts';

let at: Ground;
const at0 = () => at.clock.now().toISOString();
const in0 = (seconds: number) => new Date(at.clock.now().getTime() + seconds * 1_000).toISOString();

describe('a run behind the listing of a large folder', () => {
  const HOUR = 3_600;
  let listings: number;
  let deps: Ground;

  beforeEach(async () => {
    at = ground();
    await at.pipelines.ensure('digits', { firstBatch: 1, at: at0() });
    at.declare(DECLARATION.replace(', marker: _SUCCESS', ''));
    const declaration = declarationOf('digits');
    await at.runs.create(runOf('digits', 1, { createdAt: at0() }));
    const notified = { since: at0(), listedAt: at0() };
    await at.runs.closeBatch(runOf('digits', 1), { at: at0(), declaration, seen: 'x', notified });
    await at.runs.update('digits-000001', { status: 'succeeded', updatedAt: at0() });
    listings = 0;
    const list = (prefix: string) => {
      listings += 1;
      return at.store.list(prefix);
    };
    deps = { ...at, store: { ...at.store, list } };
  });

  const wake = () => wakeRun(at, { pipeline: 'digits', trigger: 'arrival', eventTime: at.clock.now() });
  const settle = () => settleRun(deps, { runId: 'digits-000002' });

  it('is quiet without a listing when notifications are', async () => {
    at.clock.advance(HOUR);
    await wake();
    expect(await settle()).toMatchObject({ kind: 'wait', until: in0(60), observation: null });
    at.clock.advance(50);
    await wake();
    at.clock.advance(10);
    expect(await settle()).toMatchObject({ kind: 'wait', until: in0(50) });
    at.clock.advance(50);
    expect(await settle()).toMatchObject({ kind: 'settled' });
    // Of the source, to see whether the code is new.
    expect(listings).toBe(1);
    const [since, listedAt] = [in0(-HOUR - 110), in0(-HOUR - 110)];
    expect(await at.runs.get('digits-000002')).toMatchObject({ notifiedSince: since });
    const record = await at.pipelines.get('digits');
    expect(record).toMatchObject({ notified: { since, listedAt, closedAt: at0() } });
    expect(record?.seen).toBeUndefined();
  });

  it('starts a run for what came before that close', async () => {
    at.clock.advance(HOUR);
    await wake();
    const early = at.clock.now();
    at.clock.advance(60);
    await settle();
    const late = { pipeline: 'digits', trigger: 'arrival', eventTime: early } as const;
    expect(await wakeRun(at, late)).toMatchObject({ kind: 'started', runId: 'digits-000003' });
    const older = { ...late, eventTime: new Date(early.getTime() - 1_000 * HOUR - 3_000) };
    expect(await wakeRun(at, older)).toMatchObject({ kind: 'ignored' });
  });

  it('lists the folder again after a day', async () => {
    at.clock.advance(24 * HOUR);
    at.drop('a.png');
    await wake();
    expect(await settle()).toMatchObject({ kind: 'wait', observation: { objects: 1 } });
  });

  it('lists the folder if a person requested it', async () => {
    at.clock.advance(HOUR);
    await requestRun(at, { pipeline: 'digits', request: requestOf({ at: at0() }) });
    expect(await settle()).toMatchObject({ kind: 'wait', observation: { objects: 0 } });
  });

  it('is found again by a restored table', async () => {
    at.clock.advance(HOUR);
    await wake();
    at.clock.advance(60);
    await settle();
    const before = await at.pipelines.get('digits');
    const run = await at.runs.get('digits-000002');
    const lost = { ...at, ...memoryStores() };
    const restored = await restoreRuns(lost, 'digits');
    expect(restored.notified).toEqual(before?.notified);
    expect((await lost.runs.get('digits-000002'))?.notifiedSince).toBe(run?.notifiedSince);
  });

  it('is listed by the sweep after a day', async () => {
    at.clock.advance(HOUR);
    await wake();
    at.clock.advance(60);
    await settle();
    await at.runs.update('digits-000002', { status: 'empty', updatedAt: at0() });
    const sweep = async () => {
      const record = await at.pipelines.get('digits');
      if (record === undefined) throw new Error('no record');
      return sweepPipeline(deps, record);
    };
    at.clock.advance(22 * HOUR);
    expect(await sweep()).toBeUndefined();
    at.clock.advance(HOUR);
    expect(await sweep()).toMatchObject({ kind: 'started', runId: 'digits-000003' });
    expect(await settleRun(deps, { runId: 'digits-000003' })).toMatchObject({
      observation: { objects: 0 },
    });
    const prefix = bucketKeys.incoming('digits');
    const observation = await lookAtIncoming(at.store.list(prefix), { prefix, now: at.clock.now() });
    at.clock.advance(60);
    await settleRun(deps, { runId: 'digits-000003', observation });
    // It is small by now.
    expect((await at.pipelines.get('digits'))?.notified).toBeUndefined();
  });
});

describe('arrivals in a large folder', () => {
  const incoming = bucketKeys.incoming('digits');

  beforeEach(async () => {
    at = ground();
    at.declare();
    await at.pipelines.ensure('digits', {
      firstBatch: 1,
      at: at0(),
      notified: { since: at0(), listedAt: at0() },
    });
    await at.pipelines.ensure('letters', { firstBatch: 1, at: at0() });
    at.store.put(bucketKeys.pipeline('letters'), DECLARATION.replace('digits', 'letters'));
  });

  const message = (messageId: string, key: string) => ({ messageId, body: created(key, at.clock.now()) });
  const messages = () => [
    message('1', `${incoming}a.png`),
    message('2', `${incoming}b.png`),
    message('3', 'letters/incoming/c.png'),
  ];
  const notes = async (pipeline: string) => {
    const found: unknown[] = [];
    for await (const { key } of at.store.list(bucketKeys.notified(pipeline)))
      found.push(JSON.parse((await at.store.readText(key))?.text ?? ''));
    return found;
  };

  it('are noted where the folder is large', async () => {
    expect(await takeArrivals(at, messages())).toMatchObject({ failed: [] });
    expect(await notes('digits')).toEqual([[`${incoming}a.png`, `${incoming}b.png`]]);
    expect(await notes('letters')).toEqual([]);
  });

  it('are noted before a run is woken', async () => {
    const open: string[] = [];
    const runs: Ground['runs'] = {
      ...at.runs,
      create: async (run) => {
        open.push(`${run.runId} after ${(await notes('digits')).length} notes`);
        return at.runs.create(run);
      },
    };
    await takeArrivals({ ...at, runs }, messages());
    expect(open).toContain('digits-000001 after 1 notes');
  });

  it('come again where they cannot be noted', async () => {
    const writeText = () => Promise.reject(new Error('no bucket'));
    const { failed } = await takeArrivals({ ...at, store: { ...at.store, writeText } }, messages());
    expect(failed).toEqual([
      { messageId: '1', reason: 'no bucket' },
      { messageId: '2', reason: 'no bucket' },
    ]);
    expect(await at.runs.get('digits-000001')).toBeUndefined();
    expect(await at.runs.get('letters-000001')).toBeDefined();
  });
});
