/** The files at the top of a package are its doors, and its `exports` list them one by one. What its folders hold is private. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { filesOfProject } from '../../support/import-graph.ts';

const ROOT = path.join(import.meta.dirname, '../../..');
const PACKAGES = readdirSync(path.join(ROOT, 'packages'));
const manifest = z.object({
  name: z.string(),
  sideEffects: z.literal(false),
  exports: z.record(z.string(), z.string()),
});

/** It reads options before any package is installed, so no name of a package leads anywhere yet. */
const BEFORE_SET_UP = 'cli/setup/start-options.mjs';

const packageOf = (file: string): string | undefined => /^packages\/[^/]+/.exec(file)?.[0];

function relativeImports(file: string): string[] {
  const text = readFileSync(path.join(ROOT, file), 'utf8');
  const specifiers = text.matchAll(/\b(?:from|import|mock)\s*\(?\s*'(\.[^']*)'/g);
  return [...specifiers].map(([, specifier = '']) => path.join(path.dirname(file), specifier));
}

describe.each(PACKAGES)('the package %s', (name) => {
  const folder = path.join(ROOT, 'packages', name);
  const { name: published, exports } = manifest.parse(
    JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')),
  );

  it('exports each file at its top by name', () => {
    const doors = readdirSync(folder).filter((file) => /\.(ts|mjs)$/.test(file));
    expect(published).toBe(`@tidewheel/${name}`);
    expect(exports).toEqual(Object.fromEntries(doors.map((file) => [`./${file}`, `./${file}`])));
  });
});

/** Benches and tests of what no door shows. The list may only shrink. */
const BEHIND_DOORS: ReadonlySet<string> = new Set([
  'bench/limits/kept-arrivals.ts',
  'bench/sim/peers.ts',
  'bench/sim/rate.ts',
  'bench/sim/short-ticks.ts',
  'bench/sim/tidewheel.ts',
  'bench/sim/world.ts',
  'bench/sim/write-lattice.ts',
  'packages/catalog/tests/price-list.test.ts',
  'packages/placement/tests/candidates/topologies.test.ts',
  'test/histories/history.ts',
  'test/integration/packing/readers.test.ts',
  'test/integration/packing/sealed-dataset.test.ts',
  'test/integration/placement/policy-campaigns.test.ts',
  'test/support/builders/compaction.ts',
  'test/support/builders/packing.ts',
  'test/support/market/traces.ts',
  'test/unit/cli/upload/drop-bundles.test.ts',
  'test/unit/records/last-release.test.ts',
]);

/** Tests of a package's inside stand in the package. They may use the service, its benches and what all tests share. */
const isShared = (file: string, target: string): boolean =>
  /^packages\/[^/]+\/tests\//.test(file) && !target.startsWith('packages/');

it('no relative path crosses the border of a package', () => {
  const code = filesOfProject(ROOT).filter((file) => /\.(tsx?|mjs|cjs)$/.test(file));
  const crossing = code.flatMap((file) =>
    relativeImports(file)
      .filter((target) => packageOf(target) !== packageOf(file) && file !== BEFORE_SET_UP)
      .filter((target) => !isShared(file, target))
      .map((target) => ({ file, target })),
  );
  expect(code.some((file) => packageOf(file) !== undefined)).toBe(true);
  expect(crossing.filter(({ file }) => !BEHIND_DOORS.has(file))).toEqual([]);
  expect([...BEHIND_DOORS].filter((file) => !crossing.some((each) => each.file === file))).toEqual([]);
});

it.each([
  ['packing', 12],
  ['placement', 5],
  ['doctor', 3],
  ['judging', 2],
  ['catalog', 8],
  ['declaration', 6],
])('%s has at most %i doors', (name, most) => {
  const doors = readdirSync(path.join(ROOT, 'packages', name)).filter((file) => file.endsWith('.ts'));
  expect(doors.length).toBeLessThanOrEqual(most);
});
