/** A run that is not there is answered with the one that was probably meant. */
import { beforeEach, expect, it } from 'vitest';
import { absentRunText } from '../../../cli/show/absent-run.ts';
import { runOf } from '../../support/builders/records.ts';
import { type MemoryStores, memoryStores } from '../../support/fakes/stores.ts';

let stores: MemoryStores;

beforeEach(async () => {
  stores = memoryStores();
  await stores.pipelines.ensure('wine', { firstBatch: 1, at: '2026-01-01T00:00:00.000Z' });
  for (const batch of [1, 2]) await stores.runs.create(runOf('wine', batch, { status: 'succeeded' }));
});

it.each([
  ['wine-00002', 'wine-000002'],
  ['wine-00001', 'wine-000001'],
  ['winne-000001', 'wine-000001'],
  ['wine', 'wine-000002'],
  ['wine-', 'wine-000002'],
])('%s may mean %s', async (typed, meant) => {
  expect(await absentRunText(stores, typed, 'table')).toBe(
    `there is no run "${typed}" in table: did you mean ${meant}?`,
  );
});

it.each(['beer-000001', ''])('"%s" is like no run', async (typed) => {
  expect(await absentRunText(stores, typed, 'table')).toBe(
    `there is no run "${typed}" in table: GET /pipelines/NAME/runs lists them`,
  );
});
