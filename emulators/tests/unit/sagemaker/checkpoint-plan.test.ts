import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { checkpointIn, planPass, type SeenFile } from '../../../sagemaker/hosts/checkpoint-plan.ts';

const file = (path: string, changedNs: bigint, size = 1): SeenFile => ({
  path,
  size,
  modifiedNs: changedNs,
  changedNs,
  inode: 1n,
});
const synced = (...files: SeenFile[]) => new Map(files.map((one) => [one.path, one]));
const nothing: ReadonlySet<string> = new Set();

test('new and changed files go in order', () => {
  const files = [file('marker', 30n), file('same', 5n), file('weights', 20n), file('changed', 10n)];
  const pass = planPass(
    { files, settledBeforeNs: 100n },
    synced(file('same', 5n), file('changed', 1n)),
    nothing,
  );
  expect(pass.uploads.map(({ path }) => path)).toEqual(['changed', 'weights', 'marker']);
  expect(pass.deletions).toEqual([]);
});

test('files written during a look wait', () => {
  const files = [file('weights', 99n), file('marker', 100n)];
  expect(
    planPass({ files, settledBeforeNs: 100n }, synced(), nothing).uploads.map(({ path }) => path),
  ).toEqual(['weights']);
  expect(planPass({ files, settledBeforeNs: undefined }, synced(), nothing).uploads).toHaveLength(2);
});

test('a file is deleted after two missing looks', () => {
  const before = synced(file('old', 1n));
  const first = planPass({ files: [], settledBeforeNs: 100n }, before, nothing);
  expect([first.deletions, [...first.missing]]).toEqual([[], ['old']]);
  expect(planPass({ files: [], settledBeforeNs: 200n }, before, first.missing).deletions).toEqual(['old']);
  expect(planPass({ files: [], settledBeforeNs: undefined }, before, nothing).deletions).toEqual(['old']);
});

test('nothing is deleted before a younger file arrives', () => {
  const before = synced(file('old', 1n), file('marker', 2n));
  const look = { files: [file('new', 90n), file('marker', 100n, 2)], settledBeforeNs: 100n };
  const held = planPass(look, before, new Set(['old']));
  expect([held.uploads.map(({ path }) => path), held.deletions]).toEqual([['new'], []]);
  expect(planPass({ ...look, settledBeforeNs: 200n }, before, held.missing).deletions).toEqual(['old']);
});

test('a rewrite within one tick is noticed', () => {
  const before = synced(file('a', 1n));
  const files = [{ ...file('a', 1n), inode: 2n }];
  expect(planPass({ files, settledBeforeNs: 9n }, before, nothing).uploads).toEqual(files);
  expect(planPass({ files: [file('a', 1n, 2)], settledBeforeNs: 9n }, before, nothing).uploads).toHaveLength(
    1,
  );
});

test('a marker never precedes its data', () => {
  const arbitraryFile = fc
    .record({ path: fc.string({ minLength: 1, maxLength: 3 }), at: fc.bigInt({ min: 0n, max: 50n }) })
    .map(({ path, at }) => file(path, at));
  fc.assert(
    fc.property(
      fc.uniqueArray(arbitraryFile, { selector: ({ path }) => path }),
      fc.bigInt({ min: 0n, max: 60n }),
      (files, cut) => {
        const { uploads } = planPass({ files, settledBeforeNs: cut }, synced(), nothing);
        const times = uploads.map(({ changedNs }) => changedNs);
        expect(times).toEqual(times.toSorted((left, right) => Number(left - right)));
        expect(uploads).toHaveLength(files.filter(({ changedNs }) => changedNs < cut).length);
      },
    ),
  );
});

test("the agent's own files are no checkpoint", () => {
  const files = ['tidewheel-evidence/1-algo-1-phases.json', 'log.txt', 'tidewheel-progress.json'];
  const counted = (seen: readonly string[]) => {
    const all = seen.map((path) => file(path, 1n));
    return all.filter(checkpointIn(all)).map(({ path }) => path);
  };
  expect(counted(files)).toEqual(['tidewheel-progress.json']);
  expect(counted(files.slice(0, 2))).toEqual([]);
  expect(counted(['model.pt', 'log.txt'])).toEqual(['model.pt', 'log.txt']);
});
