import { describe, expect, it } from 'vitest';
import { compare } from '../../clients/readers/compare.ts';
import type { SealedTree } from '../../clients/readers/sealed-tree.ts';

const tree: SealedTree = {
  folder: '',
  samples: new Map([
    ['a/1', { image: 'i1', pixels: 'p1', json: 'j1', label: '0' }],
    ['a/2', { image: 'i2', pixels: 'p2', json: 'j2', label: '1' }],
  ]),
  places: new Map([
    ['shard-000000.tar#0', 'a/2'],
    ['shard-000000.tar#1', 'a/1'],
  ]),
};
const whole = {
  'a/1': { image: 'i1', json: 'j1', label: '0' },
  'a/2': { pixels: 'p2', json: 'j2', label: '1' },
};
const problems = (epochs: readonly object[], byPlace = false) =>
  compare({ code: 0, output: `log\nsaw ${JSON.stringify({ version: '1', epochs })}` }, tree, byPlace)
    .problems;

describe('what a reader saw', () => {
  it('is equal by stored bytes or by pixels', () => {
    expect(problems([whole, whole])).toEqual([]);
  });

  it.each([
    ['another image', { ...whole, 'a/1': { ...whole['a/1'], image: 'i2' } }, '"a/1" has another image'],
    ['a lacking label', { ...whole, 'a/1': { image: 'i1', json: 'j1' } }, '"a/1" has another label'],
    ['a lacking image', { ...whole, 'a/1': { json: 'j1', label: '0' } }, '"a/1" has another pixels'],
    ['a missing sample', { 'a/1': whole['a/1'] }, '"a/2" is missing'],
    ['one too many', { ...whole, 'a/3': whole['a/1'] }, '"a/3" is no sample'],
  ])('%s is a problem, in any epoch', (_what, seen, problem) => {
    expect(problems([whole, seen])).toEqual([problem]);
  });

  it('is compared by place where names are unknown', () => {
    const placed = { 'shard-000000.tar#0': whole['a/2'], 'shard-000000.tar#1': whole['a/1'] };
    expect(problems([placed], true)).toEqual([]);
    expect(problems([{ ...placed, 'shard-000000.tar#0': whole['a/1'] }], true)).toHaveLength(1);
  });

  it('is nothing without an epoch, or after a crash', () => {
    expect(problems([])).toEqual(['it saw no sample']);
    const ended = compare({ code: 1, output: 'Traceback\nValueError: broken\nlog' }, tree, false);
    expect(ended.problems).toEqual(['ended with 1: ValueError: broken']);
  });
});
