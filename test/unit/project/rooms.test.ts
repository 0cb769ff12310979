/** The order of the rooms: a file imports its own room and the rooms above it in this list. Imports of types count. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { circles, filesOfProject, importsOf } from '../../support/import-graph.ts';

const ROOT = path.join(import.meta.dirname, '../../..');

/** From what knows nothing to what knows everything. A folder belongs to the longest name that it starts with. */
const ROOMS = [
  'packages/kit',
  'packages/contract',
  'functions/core/shared',
  'functions/core/catalog/types',
  'functions/core/pipeline',
  'functions/core/catalog',
  'functions/core/doctor',
  'functions/core/packing/model',
  'functions/core/packing/arrivals',
  'functions/core/packing/media',
  'functions/core/packing/labels',
  'functions/core/packing/splits',
  'functions/core/packing/formats',
  'functions/core/packing/plan',
  'functions/core/packing/shard',
  'functions/core/packing/seal',
  'functions/core/packing/verify',
  'functions/core/packing/compaction',
  'functions/core/packing/versions',
  'functions/core/packing/quality',
  'functions/core/placement',
  'functions/core/placement/model',
  'functions/core/placement/candidates',
  'functions/core/placement/belief',
  'functions/core/placement/market',
  'functions/core/placement/policy',
  'functions/core/placement/decision',
  'functions/core/placement/explain',
  'functions/core/runs',
  'functions/core/ingest',
  'functions/core/notices',
  'functions/core/dataset',
  'functions/core/page',
  'functions/core/launch',
  'functions/core/attempts',
  'functions/core/api',
  'functions/core/deployment',
  'functions/core/plan',
  'functions/aws',
  'serverless/describe',
  'functions',
  'statemachines',
  'serverless',
  'emulators',
  'client',
  'page',
  'cli',
  'test/support',
  'bench',
  'emulators/tests',
  'test',
] as const;

/** What the emulators may read of the service: facts and names that both need. */
const EMULATORS_READ = ['functions/core/catalog', 'functions/core/catalog/types', 'functions/core/shared'];

const SMALL_LINES = 60;
/** The number may only shrink. Most that are left have tests of their own. */
const MOST_SMALL_FILES = 41;
/** One file for each function, verb, operation and launcher: a table imports them all. */
const ENTRIES_OF_A_TABLE =
  /^(functions\/[^/]+\/function\.ts|cli\/verbs\/|functions\/core\/(api|catalog\/launchers)\/)/;

const files = filesOfProject(ROOT);
const code = files.filter((file) => /\.(tsx?|mjs|cjs)$/.test(file));
const imports = new Map(code.map((file) => [file, importsOf(ROOT, file)]));
const folderOf = (file: string) => path.dirname(file);

function roomOf(file: string): string {
  const folder = `${folderOf(file)}/`;
  const [longest] = ROOMS.filter((room) => folder.startsWith(`${room}/`)).toSorted(
    (a, b) => b.length - a.length,
  );
  return longest ?? '';
}

describe('the rooms', () => {
  it('hold every source file', () => {
    const outside = code.filter((file) => roomOf(file) === '' && folderOf(file) !== '.');
    expect(outside.filter((file) => !file.startsWith('training/'))).toEqual([]);
  });

  it('import only themselves and the rooms before them', () => {
    const rank = new Map(ROOMS.map((room, place) => [room as string, place]));
    const up = [...imports].flatMap(([file, targets]) =>
      targets
        .filter((target) => (rank.get(roomOf(target)) ?? -1) > (rank.get(roomOf(file)) ?? ROOMS.length))
        .map((target) => `${file} -> ${target}`),
    );
    expect(up).toEqual([]);
  });

  it('form no circle, neither of files nor of folders', () => {
    const folders = new Map<string, string[]>();
    for (const [file, targets] of imports) {
      const from = folderOf(file);
      const others = targets.map(folderOf).filter((folder) => folder !== from);
      folders.set(from, [...(folders.get(from) ?? []), ...others]);
    }
    expect(circles(imports)).toEqual([]);
    expect(circles(folders)).toEqual([]);
  });

  it('keep the emulators apart from the service', () => {
    const taken = [...imports].flatMap(([file, targets]) =>
      file.startsWith('emulators/') && !file.startsWith('emulators/tests/')
        ? targets.filter((target) => target.startsWith('functions/'))
        : [],
    );
    const foreign = taken.filter((target) => !EMULATORS_READ.includes(folderOf(target)));
    expect(foreign).toEqual([]);
  });

  it('keep small files with their only importer', () => {
    const isProduct = (file: string) => !/(^|\/)tests?\//.test(file);
    const importers = new Map<string, Set<string>>();
    for (const [file, targets] of imports)
      for (const target of isProduct(file) ? targets : [])
        importers.set(target, (importers.get(target) ?? new Set()).add(file));
    const small = code.filter(
      (file) =>
        isProduct(file) &&
        !/^(bench|training)\//.test(file) &&
        !ENTRIES_OF_A_TABLE.test(file) &&
        importers.get(file)?.size === 1 &&
        readFileSync(path.join(ROOT, file), 'utf8').trimEnd().split('\n').length <= SMALL_LINES,
    );
    expect(small.slice(MOST_SMALL_FILES)).toEqual([]);
  });
});
