/** What `npm run recipes` makes of what it measured. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { lastJsonLine } from '../../../cli/recipes/program.ts';
import { writeTable } from '../../../cli/recipes/results-page.ts';
import { recipeTable, rowSchema } from '../../../cli/recipes/table.ts';

const row = rowSchema.parse({
  name: 'ddp',
  recipe: 'ddp',
  strategy: 'ddp',
  hosts: 2,
  world_size: 2,
  steps_before: 105,
  steps_after: 27,
  metric: 'accuracy',
  undisturbed: 0.98947,
  interrupted: 0.98947,
  same: 'yes',
  is_within: true,
  seconds: 19.2,
  cpu_seconds: 41.4,
});

describe('the table', () => {
  it('has a line for each recipe', () => {
    const lines = recipeTable([row, { ...row, strategy: 'multi-worker-mirrored' }]).split('\n');
    expect(lines).toHaveLength(4);
    expect(new Set(lines.map((line) => line.length)).size).toBe(1);
    expect(lines[2]).toContain('| 105 + 27 ');
    expect(lines[2]).toContain('| accuracy 0.9895 / 0.9895 ');
  });

  it('marks a wrong result', () => {
    expect(recipeTable([{ ...row, is_within: false, same: 'accuracy differs by 0.2' }])).toContain(
      '| NO: accuracy differs by 0.2 |',
    );
  });
});

describe('the page', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'tidewheel-page-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const withTable = (text: string, table: string, name?: string): string => {
    const file = path.join(folder, 'page.md');
    writeFileSync(file, text);
    writeTable(file, table, name);
    return readFileSync(file, 'utf8');
  };
  const page = 'before\n<!-- table: begin -->\nold\n<!-- table: end -->\nafter\n';

  it('replaces only the marked table', () => {
    expect(withTable(page, 'new')).toBe('before\n<!-- table: begin -->\nnew\n<!-- table: end -->\nafter\n');
  });

  it('keeps tables of several names apart', () => {
    const two = `${page}<!-- other: begin -->\n<!-- other: end -->\n`;
    expect(withTable(two, 'new', 'other')).toBe(`${page}<!-- other: begin -->\nnew\n<!-- other: end -->\n`);
  });

  it.each(['no marks', '<!-- table: end -->\n<!-- table: begin -->'])('is refused as "%s"', (broken) => {
    expect(() => withTable(broken, 'new')).toThrow(/lost its marks/);
  });
});

describe('the last line of JSON', () => {
  it('is found among other output', () => {
    expect(lastJsonLine('{"a":1}\nnoise\n{"b":2}\nbye')).toBe('{"b":2}');
    expect(lastJsonLine('nothing here')).toBeUndefined();
  });
});
