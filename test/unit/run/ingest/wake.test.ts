/** From ten thousand events to one run; from a bucket alone back to where the work stood. */

import { bucketKeys, testObjectKey } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { requestRun } from '../../../../functions/run/ingest/request-run.ts';
import { settleRun } from '../../../../functions/run/ingest/settle-run.ts';
import { takeArrivals } from '../../../../functions/run/ingest/take-arrivals.ts';
import { wakeRun } from '../../../../functions/run/ingest/wake.ts';
import { requestOf } from '../../../support/builders/records.ts';
import { created, type Ground, ground, message } from '../../../support/world/ground.ts';

let at: Ground;
beforeEach(() => {
  at = ground();
  at.declare();
});

const arrive = (name: string) => created(bucketKeys.incoming('digits') + name, at.clock.now());

async function settle(runId: string): Promise<void> {
  let settled = await settleRun(at, { runId });
  while (settled.kind === 'wait') {
    at.clock.set(new Date(settled.until));
    settled = await settleRun(at, { runId, observation: settled.observation ?? undefined });
  }
}

describe('events of arrivals', () => {
  it('make one run in any number and order', async () => {
    const bodies = Array.from({ length: 10_000 }, (_, index) => {
      at.clock.advance(0.001);
      at.drop(`${index}.png`);
      return arrive(`${index}.png`);
    });
    const shuffled = [...bodies, ...bodies.slice(0, 500)].sort((a, b) =>
      a.slice(-30) < b.slice(-30) ? 1 : -1,
    );
    for (let start = 0; start < shuffled.length; start += 100) {
      const batch = shuffled
        .slice(start, start + 100)
        .map((body, index) => message(body, `${start + index}`));
      expect((await takeArrivals(at, batch)).failed).toEqual([]);
    }
    expect([...at.executions.started.keys()]).toEqual(['digits-000001-x1']);
    await settle('digits-000001');
    at.clock.advance(3);
    // Late and doubled: their objects are in the closed batch.
    await takeArrivals(at, [message(bodies[0] ?? ''), message(bodies.at(-1) ?? '')]);
    expect([...at.executions.started.keys()]).toEqual(['digits-000001-x1']);
  });

  it('make the next run after the close', async () => {
    at.drop('a.png');
    await takeArrivals(at, [message(arrive('a.png'))]);
    await settle('digits-000001');
    at.clock.advance(5);
    await takeArrivals(at, [message(arrive('b.png'))]);
    expect([...at.executions.started.keys()]).toEqual(['digits-000001-x1', 'digits-000002-x1']);
    expect(await at.runs.get('digits-000002')).toMatchObject({ batch: 2, status: 'settling' });
  });

  it('start the run whose execution a crash prevented', async () => {
    const starting = { ...at.executions, start: () => Promise.reject(new Error('lost')) };
    await expect(
      wakeRun({ ...at, executions: starting }, { pipeline: 'digits', trigger: 'arrival' }),
    ).rejects.toThrow();
    expect((await at.runs.get('digits-000001'))?.status).toBe('settling');
    await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
    expect([...at.executions.started.keys()]).toEqual(['digits-000001-x1']);
  });

  it('of test objects are recorded and start nothing', async () => {
    const key = testObjectKey('7f');
    await takeArrivals(at, [message(created(key, at.clock.now()))]);
    expect(await at.testObjects.takenAt('7f')).toBe(at.clock.now().toISOString());
    expect(at.executions.started.size).toBe(0);
    expect(await at.pipelines.list()).toEqual([]);
  });

  it('return to the queue alone when they fail', async () => {
    const failing = {
      ...at,
      pipelines: {
        ...at.pipelines,
        get: (name: string) =>
          name === 'broken' ? Promise.reject(new Error('throttled')) : at.pipelines.get(name),
      },
    };
    const taken = await takeArrivals(failing, [
      message(created('broken/incoming/x', at.clock.now()), 'm1'),
      message('rubbish', 'm2'),
      message(arrive('a.png'), 'm3'),
    ]);
    expect(taken.failed).toEqual([
      { messageId: 'm1', reason: 'throttled' },
      { messageId: 'm2', reason: 'the message is no JSON' },
    ]);
    expect([...at.executions.started.keys()]).toEqual(['digits-000001-x1']);
  });
});

describe('a person who asks for a run', () => {
  it('gets a run that trains without new data', async () => {
    await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
    await requestRun(at, { pipeline: 'digits', request: requestOf() });
    at.clock.advance(700);
    expect(await settleRun(at, { runId: 'digits-000001' })).toEqual({
      kind: 'settled',
      trainAnyway: true,
      draws: false,
    });
  });

  it('gets the next run when this one closed meanwhile', async () => {
    await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
    const stale = (await at.pipelines.get('digits')) ?? undefined;
    await settle('digits-000001');
    let looks = 0;
    const pipelines = {
      ...at.pipelines,
      get: (name: string) => {
        looks += 1;
        return looks === 1 ? Promise.resolve(stale) : at.pipelines.get(name);
      },
    };
    const woken = await requestRun({ ...at, pipelines }, { pipeline: 'digits', request: requestOf() });
    expect(woken).toEqual({ kind: 'started', runId: 'digits-000002' });
  });
});

describe('a table that was lost', () => {
  it('is begun at 1 where nothing ran yet', async () => {
    await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
    expect(await at.pipelines.get('digits')).toMatchObject({ openBatch: 1 });
  });

  it('continues behind the newest run with a report', async () => {
    at.store.put(bucketKeys.report('digits', 'digits-000009'), '{}');
    at.store.put(bucketKeys.report('digits', 'digits-000010'), '{}');
    expect(await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' })).toMatchObject({
      runId: 'digits-000011',
    });
  });

  it('continues the newest run without a report', async () => {
    at.store.put(bucketKeys.report('digits', 'digits-000009'), '{}');
    at.store.put(bucketKeys.planItems('digits', 'digits-000010'), '[]');
    expect(await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' })).toMatchObject({
      runId: 'digits-000010',
    });
  });

  it('ignores folders that no run made', async () => {
    at.store.put('digits/runs/notes/x.txt', '');
    at.store.put('digits/runs/letters-9999999/x', '');
    at.store.put(bucketKeys.report('digits', 'digits-000002'), '{}');
    const woken = await wakeRun(at, { pipeline: 'digits', trigger: 'arrival' });
    expect(woken).toMatchObject({ runId: 'digits-000003' });
  });
});
