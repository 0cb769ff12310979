import { bucketKeys, drawnName, SOURCE_FILE } from '@tidewheel/contract/bucket-keys.ts';
import { describe, expect, it } from 'vitest';
import { executionName } from '../../../../functions/records/batches.ts';
import type { RunRecord, RunStatus } from '../../../../functions/records/run-records.ts';
import { expireRuns } from '../../../../functions/run/attempts/expire-runs.ts';
import { AT, declarationOf, runOf } from '../../../support/builders/records.ts';
import { memoryExecutions } from '../../../support/fakes/executions.ts';
import { MemoryBlobStore } from '../../../support/fakes/memory-blob-store.ts';
import { memoryStores } from '../../../support/fakes/stores.ts';

const RUN = 'digits-000001';
const FILES = {
  work: [
    `${bucketKeys.plan('digits', RUN)}abc/items.json`,
    `${bucketKeys.map('digits', RUN)}abc/SUCCEEDED_0.json`,
    `${bucketKeys.reads('digits', RUN)}00000001.json`,
    `${bucketKeys.runs('digits')}${RUN}-c0123abcd/plan/items.json`,
    bucketKeys.planItems('digits', drawnName(RUN, '0123abcd')),
    bucketKeys.manifest('digits', drawnName(RUN, '0123abcd')),
  ],
  checkpoints: [`${bucketKeys.checkpoints('digits', RUN)}step-10/state.pt`],
  source: [`${bucketKeys.packedSource('digits', 'abc')}${SOURCE_FILE}`],
};
const KEPT = [
  bucketKeys.report('digits', RUN),
  bucketKeys.manifest('digits', RUN),
  bucketKeys.manifest('digits', drawnName(`${RUN}0`, '0123abcd')),
  `${bucketKeys.shards('digits', RUN)}shard-000000.tar`,
  `${bucketKeys.models('digits', RUN)}job/output/model.tar.gz`,
  `${bucketKeys.incoming('digits')}1.png`,
  `${bucketKeys.plan('digits', `${RUN}0`)}items.json`,
];

async function world(status: RunStatus = 'succeeded', retention: Readonly<Record<string, unknown>> = {}) {
  const { runs } = memoryStores();
  const store = new MemoryBlobStore();
  const executions = memoryExecutions();
  for (const key of [...Object.values(FILES).flat(), ...KEPT]) store.seed(key, 'x');
  const add = async (run: RunRecord): Promise<void> => {
    await runs.create(run);
    await executions.start(run);
  };
  const finish = async (run: RunRecord, as: RunStatus = 'succeeded'): Promise<void> => {
    await runs.update(run.runId, { status: as, updatedAt: AT });
    executions.end(executionName(run.runId, 1));
  };
  const run = runOf('digits', 1, { source: 'abc', declaration: declarationOf('digits', { retention }) });
  await add(run);
  await finish(run, status);
  const after = (days: number, pages = Number.POSITIVE_INFINITY) => {
    let looks = 0;
    const now = new Date(Date.parse(AT) + days * 86_400_000);
    return expireRuns({
      runs,
      store,
      executions,
      clock: { now: () => now },
      isTimeUp: () => (looks += 1) > pages,
    });
  };
  const left = () => [...store.objects.keys()].toSorted();
  return { runs, store, executions, add, finish, after, left };
}

describe('files of a finished run', () => {
  it('stay until their days are over', async () => {
    const { after, left } = await world();
    const before = left();
    expect(await after(29.9)).toMatchObject({ expired: [], objects: 0 });
    expect(left()).toEqual(before);
  });

  it('expire part by part', async () => {
    const { runs, after, left } = await world();
    expect((await after(31)).expired).toEqual([`${RUN} work`, `${RUN} checkpoints`]);
    expect(left()).toEqual([...KEPT, ...FILES.source].toSorted());
    expect((await after(366)).expired).toEqual([`${RUN} source`]);
    expect(left()).toEqual([...KEPT].toSorted());
    expect(await runs.listKept()).toEqual([]);
  });

  it('keep a model that lies among the checkpoints', async () => {
    const { runs, store, after, left } = await world();
    const model = bucketKeys.finishedModel('digits', RUN, 1);
    store.seed(model, 'x');
    await runs.update(RUN, { modelUri: `s3://bucket/${model}`, updatedAt: AT });
    expect((await after(31)).expired).toContain(`${RUN} checkpoints`);
    expect(left()).toEqual([...KEPT, ...FILES.source, model].toSorted());
  });

  it('expire later after a failure', async () => {
    const { after, left } = await world('failed');
    await after(31);
    expect(left()).toEqual([...KEPT, ...FILES.source, ...FILES.checkpoints].toSorted());
    await after(91);
    expect(left()).not.toContain(FILES.checkpoints[0]);
  });

  it('expire by the declaration of their run', async () => {
    const retention = { workDays: 1, checkpointDays: 'forever', sourceDays: 'forever' };
    const { runs, after, left } = await world('succeeded', retention);
    expect((await after(2)).expired).toEqual([`${RUN} work`]);
    expect(left()).toEqual([...KEPT, ...FILES.source, ...FILES.checkpoints].toSorted());
    expect(await runs.listKept()).toEqual([]);
  });

  it('stay while the execution still deletes sources', async () => {
    const { runs, add, after, left } = await world();
    await add(runOf('digits', 2));
    await runs.update('digits-000002', { status: 'succeeded', updatedAt: AT });
    const key = `${bucketKeys.plan('digits', 'digits-000002')}items.json`;
    expect((await after(31)).expired).not.toContain('digits-000002 work');
    expect(left()).not.toContain(key);
  });

  it('stay when they are younger than the record says', async () => {
    const { store, after, left } = await world();
    const list = store.listPage.bind(store);
    store.listPage = async (prefix, options) => {
      const page = await list(prefix, options);
      const young = { lastModified: '2026-12-20T00:00:00.000Z' };
      return { ...page, objects: page.objects.map((object) => ({ ...object, ...young })) };
    };
    expect((await after(31)).expired).toEqual([]);
    expect(left()).toContain(FILES.work[0]);
  });
});

describe('a packed source', () => {
  it('stays while the pipeline has an unfinished run', async () => {
    const { add, after, left } = await world();
    await add(runOf('digits', 2));
    expect((await after(400)).expired).not.toContain(`${RUN} source`);
    expect(left()).toContain(FILES.source[0]);
  });

  it('goes with the last run that shares it', async () => {
    const { runs, add, finish, after, left } = await world();
    const longer = declarationOf('digits', { retention: { sourceDays: 1_000 } });
    const other = runOf('digits', 2, { source: 'abc', declaration: longer });
    await add(other);
    await finish(other);
    await after(400);
    expect(left()).toContain(FILES.source[0]);
    await after(1_001);
    expect(left()).not.toContain(FILES.source[0]);
    expect(await runs.listKept()).toEqual([]);
  });
});

describe('a pass that ends early', () => {
  it('is completed by the next one', async () => {
    for (let pages = 0; pages < 8; pages += 1) {
      const { runs, after, left } = await world();
      await after(400, pages);
      await after(400);
      expect(left()).toEqual([...KEPT].toSorted());
      expect(await runs.listKept()).toEqual([]);
    }
  });

  it('notes nothing as expired that was refused', async () => {
    const { store, after, left } = await world();
    const refuse = (keys: readonly string[]) =>
      Promise.resolve(keys.map((key) => ({ key, code: 'AccessDenied', message: '' })));
    const deleteMany = store.deleteMany.bind(store);
    store.deleteMany = refuse;
    const refused = await after(400);
    expect(refused.expired).toEqual([]);
    expect(refused.failures).toHaveLength(8);
    store.deleteMany = deleteMany;
    await after(400);
    expect(left()).toEqual([...KEPT].toSorted());
  });
});
