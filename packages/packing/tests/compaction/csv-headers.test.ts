/** Drops whose CSV headers differ. */
import { beforeEach, expect, it } from 'vitest';
import { datasetOf } from '../../../../functions/records/run-dataset.ts';
import { current, incoming, runOf } from '../../../../test/support/builders/compaction.ts';
import { controlView } from '../../../../test/support/builders/control-view.ts';
import { now, PIPELINE, packPipeline, settings } from '../../../../test/support/builders/packing.ts';
import { runOf as recordOf } from '../../../../test/support/builders/records.ts';
import { MemoryBlobStore } from '../../../../test/support/fakes/memory-blob-store.ts';
import { compact } from '../../compaction/compact.ts';
import { planShards } from '../../plan/plan-shards.ts';
import { giveUpGeneration } from '../../versions/repair-generation.ts';

let store: MemoryBlobStore;

beforeEach(() => {
  store = new MemoryBlobStore();
});

const csv = (header: 'perShard' | 'drop') => settings({ format: 'lines', lines: { kind: 'csv', header } });

async function drop(batch: number, packing: ReturnType<typeof csv>, files: Readonly<Record<string, string>>) {
  for (const [name, text] of Object.entries(files)) store.seed(`${incoming}${name}`, text);
  const run = { runId: runOf(batch), pipeline: PIPELINE, packing };
  await planShards({ store, now }, { ...run, onChange: 'replace' });
  await packPipeline(store, run);
  await compact(store, { pipeline: PIPELINE, packing, after: 'never', onChange: 'replace' });
}

it.each(['perShard', 'drop'] as const)('a correction with another header is named (%s)', async (header) => {
  await drop(1, csv(header), { 'a.csv': 'id,x\n1,2\n', 'b.csv': 'id,x\n3,4\n' });
  await expect(drop(2, csv(header), { 'b.csv': 'id,y\n3,4\n' })).rejects.toThrow(
    `the header of "${incoming}b.csv" is "id,y", and that of digits-000001, in which digits-000002 replaces samples, ` +
      'is "id,x": it has "y" more and it lacks "x". Run npx --no-install tidewheel data repair digits digits-000002 --give-up,',
  );
  // As the message says.
  const gone = { pipeline: PIPELINE, generation: runOf(2), pin: () => Promise.resolve(undefined) };
  expect(await giveUpGeneration(store, gone)).toEqual({
    kind: 'refused',
    reasons: [expect.stringContaining('digits-000002 may join digits-000002 (it has no report yet)')],
  });
  expect(await giveUpGeneration(store, { ...gone, over: [runOf(2)] })).toMatchObject({ kind: 'pruned' });
  await drop(3, csv(header), { 'b.csv': 'id,x\n3,5\n' });
  expect((await current(store)).map(({ samples }) => samples)).toEqual([2]);
});

it('a run refuses rows whose dropped headers differ', async () => {
  await drop(1, csv('drop'), { 'a.csv': 'id,x\n1,2\n' });
  await drop(2, csv('drop'), { 'b.csv': 'x,id\n4,3\n' });
  await expect(datasetOf(controlView(store), recordOf(PIPELINE, 2))).rejects.toThrow(
    'the CSV files of digits-000002 began with "x,id" and those of digits-000001 with "id,x": its columns are in another order',
  );
});

it('a run trains on shards that name their columns', async () => {
  await drop(1, csv('perShard'), { 'a.csv': 'id,x\n1,2\n' });
  await drop(2, csv('perShard'), { 'b.csv': 'x,id\n4,3\n' });
  expect((await datasetOf(controlView(store), recordOf(PIPELINE, 2))).generations).toHaveLength(2);
});
