/** Everything that earlier releases have stored is read and used, and their runs continue. */
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import { sealDataset } from '@tidewheel/packing/seal.ts';
import { describe, expect, it } from 'vitest';
import { answer } from '../../../functions/api/answer.ts';
import { OPERATIONS } from '../../../functions/api/operation-table.ts';
import { FINISHED } from '../../../functions/records/run-records.ts';
import { expireRuns } from '../../../functions/run/attempts/expire-runs.ts';
import { reconcile } from '../../../functions/run/attempts/reconcile.ts';
import { compactAll, contents, incoming, problems } from '../../support/builders/compaction.ts';
import { PIPELINE, packAll } from '../../support/builders/packing.ts';
import { bucketOf, putState, RECORDED_RELEASES, recordedOf } from '../../support/builders/recorded.ts';
import type { FleetScript, ScriptedFleet } from '../../support/fakes/fleets.ts';
import { MemoryBlobStore } from '../../support/fakes/memory-blob-store.ts';
import type { JobScript } from '../../support/fakes/training.ts';
import { ground } from '../../support/world/ground.ts';
import { passTime } from '../../support/world/history.ts';
import { createWorld } from '../../support/world/world.ts';

const recorded = RECORDED_RELEASES.map((release) => ({ release, ...recordedOf(release) }));

const buckets = recorded.flatMap(({ release, buckets }) =>
  Object.entries(buckets).map(([name, bucket]) => ({ release, name, ...bucket })),
);

describe.each(buckets)('a bucket of $release with $name', ({ packing: stored, objects }) => {
  const packing = packingSchema.parse(stored);
  const RUN = 'digits-000003';

  it('seals what was packed, and packs again', async () => {
    const store = bucketOf(objects);
    await sealDataset({ store }, { runId: RUN, pipeline: PIPELINE, packing });
    const sealed = await contents(store);
    expect(sealed).toHaveLength(26);
    store.seed(
      `${incoming}cat/100.${Object.keys(objects).some((key) => key.endsWith('.jsonl')) ? 'jsonl' : 'txt'}`,
      '"new"\n',
    );
    await packAll(store, packing, 'digits-000004');
    const after = await contents(store);
    expect(after).toEqual(expect.arrayContaining(sealed));
    expect(after).toHaveLength(27);
    expect(await problems(store)).toEqual([]);
    await compactAll(store, packing);
    expect(await contents(store)).toEqual(after);
    expect(await problems(store)).toEqual([]);
  });
});

const states = recorded.flatMap(({ release, worlds }) =>
  Object.entries(worlds).flatMap(([launcher, { objects, states }]) =>
    Object.entries(states).map(([name, state]) => ({ release, launcher, name, state, objects })),
  ),
);

const COMPLETES: JobScript = [
  { at: 0, status: 'InProgress', secondary: 'Training' },
  { at: 600, status: 'Completed', secondary: 'Completed' },
];

const ends = (now: () => string): FleetScript => {
  const say = (fleet: ScriptedFleet, said: Parameters<ScriptedFleet['say']>[1]) => {
    for (const id of fleet.instanceIds) fleet.say(id, said);
  };
  const modelUri = 's3://memory-bucket/model.tar.gz';
  return [
    { at: 60, act: (fleet) => say(fleet, { startedAt: now() }) },
    {
      at: 900,
      event: 'state',
      act: (fleet) => {
        say(fleet, { endedAt: now(), exitCode: 0, modelUri });
        for (const id of fleet.instanceIds) fleet.terminate(id);
      },
    },
  ];
};

const OF_A_RUN = OPERATIONS.map(({ route }) => route).filter((route) => /^GET .*\{runId\}/.test(route));

describe.each(states)('a run of $release, $launcher, $name', ({ state, objects }) => {
  const { run } = state;
  const open = !FINISHED.includes(run.status);

  it('is shown, looked at and expired', async () => {
    const at = ground();
    for (const [key, text] of Object.entries(objects)) at.store.put(key, text);
    await putState(at, state);
    at.clock.advance((Date.parse(state.now) - at.clock.now().getTime()) / 1_000);
    for (const route of [...OF_A_RUN, 'GET /runs', 'GET /pipelines']) {
      const said = await answer(at, {
        route,
        parameters: { runId: run.runId, attempt: '1' },
        query: {},
        body: '',
      });
      expect({ route, ...said }).toMatchObject({ status: expect.toSatisfy((status) => status < 405) });
      expect({ route, unreadable: Reflect.get(Object(said.body), 'unreadable') ?? [] }).toMatchObject({
        unreadable: [],
      });
    }
    const pass = await reconcile(at, { sweep: false });
    expect(pass.failures).toEqual([]);
    const store = new MemoryBlobStore();
    expect((await expireRuns({ ...at, store, isTimeUp: () => false })).failures).toEqual([]);
  });

  it.runIf(open)(
    'ends well',
    async () => {
      const world = createWorld(1, 0, { jobScript: () => COMPLETES, fleetScript: (_, now) => ends(now) });
      const { loop, clock } = world;
      clock.advance((Date.parse(state.now) - clock.now().getTime()) / 1_000);
      const own = `${run.pipeline}/runs/${run.runId}/`;
      for (const [key, text] of Object.entries(objects))
        if (key !== bucketKeys.report(run.pipeline, run.runId) && !key.startsWith(`${own}checkpoints`))
          world.store.put(key, text);
      await putState(world.table, state);
      world.keepReconciling();
      let status: string | undefined;
      const look = async (): Promise<void> => {
        status = (await world.table.runs.get(run.runId))?.status;
        loop.after(600, () => void look());
      };
      loop.after(600, () => void look());
      await loop.run({
        isOver: () => FINISHED.some((each) => each === status) && world.isQuiet(),
        limit: new Date(clock.now().getTime() + 6 * 86_400_000),
        onTime: () => passTime(world),
      });
      expect({ status, broken: world.broken }).toEqual({ status: 'succeeded', broken: [] });
    },
    60_000,
  );
});
