import { describe, expect, it } from 'vitest';
import { sizeOf, sizeTable, weigh } from '../../../../cli/setup/size.mjs';

describe('the size of the project', () => {
  it('counts lines of product code by room', () => {
    expect(weigh('functions/core/a.ts', 'one\ntwo\n')).toEqual({
      kind: 'product',
      room: 'functions',
      amount: 2,
    });
    expect(weigh('training/agent/a.py', 'one\ntwo')).toEqual({
      kind: 'product',
      room: 'training',
      amount: 2,
    });
  });

  it('counts tests and their support apart', () => {
    for (const file of ['test/unit/a.test.ts', 'emulators/tests/unit/a.ts', 'training/tests/a.py'])
      expect(weigh(file, 'one\n')).toMatchObject({ kind: 'tests' });
  });

  it("counts the words of users' pages only", () => {
    expect(weigh('docs/cli.md', '# Two words\n')).toEqual({ kind: 'prose', room: 'docs', amount: 3 });
    expect(weigh('README.md', 'four')).toEqual({ kind: 'prose', room: '(top)', amount: 1 });
    for (const file of ['docs/decisions/0001-level-triggered.md', 'docs/research/log.md', 'test/README.md'])
      expect(weigh(file, 'word')).toBeUndefined();
  });

  it('leaves out generated files and data', () => {
    expect(weigh('training/client/tidewheel_client/operations.py', 'one\n')).toBeUndefined();
    expect(weigh('packages/catalog/data/ec2-prices.json', '{}\n')).toBeUndefined();
  });

  it('shows what each room gained and lost', () => {
    const before = sizeOf([
      ['cli/a.ts', '1\n2\n3\n'],
      ['old/a.ts', '1\n'],
    ]);
    const now = sizeOf([['cli/a.ts', '1\n']]);
    expect(sizeTable(now, before).split('\n').slice(1)).toEqual([
      'cli                     1      -2        0                0',
      'old                     0      -1        0                0',
      'all                     1      -3        0                0',
    ]);
  });
});
