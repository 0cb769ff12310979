import { expect, it } from 'vitest';
import { reachOf } from '../../../../cli/setup/changed.mjs';

const partsOf = (...paths: string[]) => Object.fromEntries(reachOf(paths));
const TYPESCRIPT = { unit: [], contract: [], integration: [], e2e: [] };
const EVERYTHING = { ...TYPESCRIPT, python: [] };

it('a test file alone reaches itself', () => {
  const files = ['packages/packing/tests/plan/balance.test.ts', 'training/tests/host/test_host.py'];
  expect(partsOf(...files)).toEqual({
    unit: [files[0]],
    python: [files[1], 'training/tests/test_layers.py'],
  });
});

it('a service’s source reaches every test in TypeScript', () => {
  expect(partsOf('packages/packing/plan/draft-plan.ts')).toEqual(TYPESCRIPT);
  expect(partsOf('test/support/region.ts')).toEqual(TYPESCRIPT);
});

it('the agent’s source reaches everything', () => {
  expect(partsOf('training/agent/tidewheel_agent/main.py')).toEqual(EVERYTHING);
  expect(partsOf('training/tests/conftest.py')).toEqual(EVERYTHING);
});

it('a script of a test reaches its folder', () => {
  expect(partsOf('training/tests/automatic/scripts/end.py')).toEqual({
    python: ['training/tests/automatic'],
  });
});

it('a page reaches the unit tests', () => {
  expect(partsOf('docs/training.md')).toEqual({ unit: [] });
});

it('what no row names reaches everything', () => {
  expect(partsOf('package-lock.json')).toEqual(EVERYTHING);
  expect(partsOf('cli/pack-agent.ts')).toEqual(EVERYTHING);
});

it('all of a part includes a limited part', () => {
  const both = ['training/tests/host/test_host.py', 'training/agent/tidewheel_agent/main.py'];
  expect(partsOf(...both)['python']).toEqual([]);
  expect(partsOf(...both.reverse())['python']).toEqual([]);
});

it('no change reaches nothing', () => {
  expect(partsOf()).toEqual({});
});
