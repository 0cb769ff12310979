import { describe, expect, it } from 'vitest';
import { readScores } from '../scores.ts';

const read = (...lines: readonly string[]) => readScores(lines, 'accuracy');

describe('scores', () => {
  it('are read in any order, with classes, blank lines left out', async () => {
    expect(
      await read(
        '{"key": "b", "accuracy": 0.5, "loss": 2, "label": "cat"}',
        '',
        '{"accuracy": true, "key": "a"}',
      ),
    ).toEqual({
      ok: true,
      scores: new Map([
        ['b', { value: 0.5, label: 'cat' }],
        ['a', { value: 1, label: undefined }],
      ]),
    });
  });

  it.each([
    ['{"key": "a", "accuracy": NaN}', 'line 1: NaN or Infinity is no score'],
    ['{"key": "a", "loss": 1}', 'line 1: a has no number for accuracy, the metric of training.objective'],
    [
      '{"key": "a", "accuracy": "high"}',
      'line 1: a has no number for accuracy, the metric of training.objective',
    ],
    ['0.5', 'line 1: write {"key": the name of the sample, and a number for each metric}'],
    [`{"key": "${'a'.repeat(9000)}", "accuracy": 1}`, 'line 1: longer than 8192 characters'],
    [
      '{"key": "a\\u001b[31m", "accuracy": 1e999}',
      'line 1: "a\\u001b[31m" has no number for accuracy, the metric of training.objective',
    ],
  ])('name what is wrong in %j', async (line, problem) => {
    expect(await read(line)).toEqual({ ok: false, problems: [problem] });
  });

  it('name every kind of problem and count the rest', async () => {
    const same = '{"key": "a", "accuracy": 1}';
    const found = await read(...Array.from({ length: 9 }, () => same));
    expect(found).toMatchObject({ ok: false });
    if (found.ok) return;
    expect(found.problems).toHaveLength(6);
    expect(found.problems[0]).toBe('line 2: a has a score already: write one line for each sample');
    expect(found.problems.at(-1)).toBe('and 3 lines more');
  });

  it('never read a metric from the prototype', async () => {
    expect(await readScores(['{"key": "a"}'], 'constructor')).toMatchObject({ ok: false });
  });
});
