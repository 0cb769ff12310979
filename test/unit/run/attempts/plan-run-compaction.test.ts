/** A run that begins from a model trains on what is new since, in the same shards at each attempt. */

import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { compactionItemSchema, packCompaction } from '@tidewheel/packing/compact.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { datasetOf } from '../../../../functions/records/run-dataset.ts';
import type { RunRecord } from '../../../../functions/records/run-records.ts';
import { planRunCompaction } from '../../../../functions/run/attempts/plan-run-compaction.ts';
import type { WithPacking } from '../../../../functions/run/attempts/seal-run.ts';
import { sealRunCompaction } from '../../../../functions/run/attempts/seal-run-compaction.ts';
import { runOf as named } from '../../../support/builders/compaction.ts';
import { controlView } from '../../../support/builders/control-view.ts';
import { DatasetWorld } from '../../../support/builders/dataset-world.ts';
import { PIPELINE } from '../../../support/builders/packing.ts';
import { declarationOf, runOf } from '../../../support/builders/records.ts';
import { type Ground, ground } from '../../../support/world/ground.ts';

const RUN = { runId: named(3), pipeline: PIPELINE };
const startedFrom = { runId: named(2), uri: 's3://bucket/digits/runs/digits-000002/models/model.tar.gz' };

let at: Ground;
let world: DatasetWorld;
let withPacking: WithPacking;

beforeEach(async () => {
  at = ground();
  const split: PackingSettings['split'] = { by: 'folder', train: ['0'], validation: ['1'] };
  world = new DatasetWorld({ label: 'none', split });
  withPacking = (_runId, step) => step({ store: world.store, packing: world.packing, dataset: undefined });
  for (const drop of [1, 2, 3]) {
    const files = Array.from({ length: 20 }, (_, index) => [`${index % 2}/${drop}-${index}.jpg`, `${index}`]);
    world.put(Object.fromEntries(files) as Record<string, string>);
    await world.run();
  }
  await at.runs.create(runOf(PIPELINE, 2, { generations: [named(1), named(2)] }));
});

const reading = (read: unknown, over: Partial<RunRecord> = {}): Promise<unknown> =>
  at.runs.create(
    runOf(PIPELINE, 3, {
      startedFrom,
      generations: undefined,
      declaration: declarationOf(PIPELINE, {
        training: { strategy: 'single', startFrom: 'last' },
        dataset: { read },
      }),
      ...over,
    }),
  );

const deps = () => ({ ...at, store: controlView(world.store), withPacking });

async function draw() {
  const planned = await planRunCompaction(deps(), { ...RUN, draws: true });
  if (planned.status !== 'planned') return planned;
  const found = await world.store.get(planned.itemsKey);
  if (found.kind !== 'found') throw new Error('no items');
  for (const item of compactionItemSchema.array().parse(JSON.parse(Buffer.concat(found.chunks).toString())))
    await packCompaction(world, { pipeline: PIPELINE, packing: world.packing, item });
  await sealRunCompaction(deps(), { ...RUN, generation: planned.generation });
  return planned;
}

const record = async (): Promise<RunRecord> => {
  const run = await at.runs.get(RUN.runId);
  if (run === undefined) throw new Error('no run');
  return run;
};
const channels = async () =>
  (await datasetOf(controlView(world.store), await record())).shards.map(
    ({ shardsPrefix }) => /dataset\/(.*)\/$/.exec(shardsPrefix)?.[1],
  );
const said = async (): Promise<string[]> =>
  (await at.timeline.list(RUN.runId)).map(({ kind, text }) => `${kind}: ${text}`);

describe('dataset.read', () => {
  it('new: one generation trains, and all of them measure', async () => {
    await reading('new');
    expect(await draw()).toMatchObject({ status: 'nothingToCompact' });
    expect(await channels()).toEqual([
      'digits-000001/shards/validation',
      'digits-000002/shards/validation',
      'digits-000003/shards/train',
      'digits-000003/shards/validation',
    ]);
    expect(await said()).toEqual([
      'SamplesChosen: trains on 10 samples that are new since digits-000002, and on none of 20 earlier ones',
    ]);
  });

  it('with replay: a share of earlier samples trains too', async () => {
    await reading({ new: 'all', replay: '50 %' });
    const { generation } = await draw();
    expect(await channels()).toContain(`drawn/${generation}/shards/train`);
    const { reads, generations } = await record();
    expect(generations).toEqual([1, 2, 3].map(named));
    expect(reads).toMatchObject({ whole: [named(3)], drawn: generation, new: 10, earlier: 20 });
    expect(await said()).toEqual([
      `SamplesChosen: trains on 10 samples that are new since digits-000002, and on ${reads?.replayed} (50 %) of 20 earlier ones`,
      `SamplesDrawn: ${reads?.replayed} samples in 1 shard, for this run`,
    ]);
  });

  it('draws the same again, although another drop came', async () => {
    await reading({ new: 'all', replay: '50 %' });
    await draw();
    const { reads, generations } = await record();
    const before = await channels();
    world.put({ '0/4.jpg': 'later' });
    await world.run();
    await draw();
    expect(await record()).toMatchObject({ reads, generations });
    expect(await channels()).toEqual(before);
  });

  it('is all samples where no record says more', async () => {
    await reading('new', { startedFrom: { ...startedFrom, runId: named(1) } });
    await draw();
    expect(await channels()).toHaveLength(6);
    expect(await said()).toEqual([
      'SamplesChosen: trains on all samples: no record says what digits-000001 was trained on',
    ]);
    expect(await draw()).toMatchObject({ status: 'nothingToCompact' });
  });

  it('is all samples where nothing is new', async () => {
    await at.runs.update(named(2), {
      generations: [1, 2, 3].map(named),
      updatedAt: at.clock.now().toISOString(),
    });
    await reading('new');
    await draw();
    expect(await channels()).toHaveLength(6);
    expect(await said()).toEqual(['SamplesChosen: trains on all samples: none is new since digits-000002']);
  });
});
