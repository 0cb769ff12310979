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
  'packages/declaration/types',
  'packages/declaration/script',
  'packages/declaration/schema',
  'packages/declaration',
  'packages/catalog/data',
  'packages/catalog/facts',
  'packages/catalog/launchers',
  'packages/catalog',
  'packages/doctor/rules',
  'packages/doctor/probe',
  'packages/doctor',
  'packages/judging/statistics',
  'packages/judging/rules',
  'packages/judging',
  'packages/packing/documents',
  'packages/packing/arrivals',
  'packages/packing/media',
  'packages/packing/labels',
  'packages/packing/splits',
  'packages/packing/formats',
  'packages/packing/archives',
  'packages/packing/plan',
  'packages/packing/shard',
  'packages/packing/seal',
  'packages/packing/verify',
  'packages/packing/compaction',
  'packages/packing/versions',
  'packages/packing/quality',
  'packages/packing',
  'packages/placement/records',
  'packages/placement/model',
  'packages/placement/candidates',
  'packages/placement/belief',
  'packages/placement/market',
  'packages/placement/policy',
  'packages/placement/decision',
  'packages/placement/futures',
  'packages/placement/explain',
  'packages/placement',
  'functions/records',
  'functions/launch',
  'functions/run',
  'functions/notices',
  'functions/check',
  'functions/api',
  'functions/aws',
  'functions/wiring',
  'serverless/describe',
  'functions/handlers',
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
  'packages/catalog/tests',
  'packages/contract/tests',
  'packages/declaration/tests',
  'packages/doctor/tests',
  'packages/judging/tests',
  'packages/kit/tests',
  'packages/packing/tests',
  'packages/placement/tests',
  'test',
] as const;

/** What the emulators may read of the service: facts and names that both need. */
const EMULATORS_READ = ['packages/catalog', 'packages/contract', 'packages/declaration', 'packages/kit'];

/** The number may only shrink: what one word means in two places, a reader has to find out. */
const MOST_DOUBLE_NAMES = 24;
/** Each Lambda's description has the name of the function that it calls, and each verb the name `verb`. */
const NAMED_ALIKE = /^(functions\/handlers\/|cli\/verbs\/)/;
const EXPORTED =
  /^export (?:declare )?(?:abstract )?(?:async )?(?:function\*?|class|const|let|interface|type|enum) (\w+)/gm;

const SMALL_LINES = 60;
/** The number may only shrink. Most that are left have tests of their own. */
const MOST_SMALL_FILES = 20;
/** One file for each function, verb, operation, launcher, format and screen: a table imports them all. */
const ENTRIES_OF_A_TABLE =
  /^(functions\/handlers\/[^/]+\/|cli\/verbs\/|functions\/api\/|packages\/catalog\/launchers\/|packages\/packing\/formats\/|functions\/launch\/\w+\/\w+-launcher\.ts|page\/screens\/)/;

/** What a door shows has importers outside. */
const outsideOf = (file: string): string => (/^packages\/[^/]+\/[^/]+$/.test(file) ? 'outside' : file);

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
        ? targets.filter((target) => /^(functions|packages)\//.test(target))
        : [],
    );
    const foreign = taken.filter((target) => !EMULATORS_READ.includes(folderOf(target)));
    expect(foreign).toEqual([]);
  });

  it('give no basename to three files', () => {
    const product = code.filter((file) => !/(^|\/)tests?\/|^training\//.test(file));
    // Each Lambda has a handler and a description, and each program its main file.
    const byName = Map.groupBy(product, (file) => path.basename(file));
    for (const name of ['handler.ts', 'function.ts', 'main.ts']) byName.delete(name);
    expect([...byName.values()].filter((files) => files.length > 2)).toEqual([]);
  });

  it('give one exported name to one thing', () => {
    const product = code.filter(
      (file) => !/(^|\/)tests?\/|^(bench|training)\//.test(file) && !NAMED_ALIKE.test(file),
    );
    const names = product.flatMap((file) => {
      const text = readFileSync(path.join(ROOT, file), 'utf8');
      return [...new Set([...text.matchAll(EXPORTED)].map(([, name = '']) => name))];
    });
    const double = [...Map.groupBy(names, (name) => name)].filter(([, all]) => all.length > 1);
    expect(double.map(([name]) => name).slice(MOST_DOUBLE_NAMES)).toEqual([]);
  });

  it('keep small files with their only importer', () => {
    const isProduct = (file: string) => !/(^|\/)tests?\//.test(file);
    const importers = new Map<string, Set<string>>();
    for (const [file, targets] of imports)
      for (const target of isProduct(file) ? targets : [])
        importers.set(target, (importers.get(target) ?? new Set()).add(file).add(outsideOf(file)));
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
