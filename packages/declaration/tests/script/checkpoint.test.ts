/** What a declaration says of checkpoints and progress, and which expressions the agent can run. */
import { describe, expect, it } from 'vitest';
import { trainingSchema } from '../../schema/training.ts';
import { checkpointSchema, objectiveSchema, progressSchema } from '../../script/checkpoint.ts';
import { patternFacts } from '../../script/patterns.ts';

const problemsOf = (
  schema: typeof checkpointSchema | typeof objectiveSchema | typeof progressSchema,
  value: unknown,
) => schema.safeParse(value).error?.issues.map(({ path, message }) => `${path.join('.')}: ${message}`) ?? [];

describe('checkpoints', () => {
  it('have folder, pattern, step and number', () => {
    for (const rules of [
      { folder: 'out' },
      { folder: '${checkpoints}/lightning/version_0' },
      { pattern: 'epoch_*.pt', step: 'epoch_(\\d+)', keep: 3 },
      { pattern: 'checkpoint-*', step: 'time' },
    ])
      expect(problemsOf(checkpointSchema, rules)).toEqual([]);
  });

  it('lie where they outlive the host', () => {
    for (const folder of ['/tmp/out', '../out', '${model}', 'a/../../b', '${checkpoints}x', '.', ''])
      expect(problemsOf(checkpointSchema, { folder }).length).toBeGreaterThan(0);
  });

  it('are found by a pattern below their folder', () => {
    for (const pattern of ['/x', 'a/../b', '**/x', 'x/', 'a\nb'])
      expect(problemsOf(checkpointSchema, { pattern }).length).toBeGreaterThan(0);
    expect(problemsOf(checkpointSchema, { keep: 3, step: 'time' }).join()).toMatch(
      /step: needs.*keep: needs/,
    );
    expect(problemsOf(checkpointSchema, {})[0]).toContain('name folder, pattern, step or keep');
  });

  it('have their step in one group', () => {
    for (const step of ['epoch', '(a)(\\d+)', '(\\d+'])
      expect(problemsOf(checkpointSchema, { pattern: '*', step })).toHaveLength(1);
  });

  it('are saved automatically for PyTorch scripts', () => {
    const declared = (strategy: string) =>
      trainingSchema.safeParse({ strategy, source: 's3://bucket/code.tar.gz', checkpoint: 'automatic' });
    const refused = declared('mpi').error?.issues.find(({ path }) => path.join('.') === 'checkpoint');
    expect(refused?.message).toContain('choose strategy single or ddp');
    for (const strategy of ['single', 'ddp'])
      expect(declared(strategy).error?.issues.map(({ path }) => path.join('.')) ?? []).not.toContain(
        'checkpoint',
      );
  });
});

describe('progress', () => {
  it('has a group that holds the step', () => {
    expect(problemsOf(progressSchema, { pattern: 'iter (?P<step>\\d+): loss (?P<loss>[\\d.]+)' })).toEqual(
      [],
    );
    expect(problemsOf(progressSchema, { pattern: 'iter (\\d+)' })[0]).toContain('(?P<step>');
  });
});

describe('an expression', () => {
  it.each([
    'step (?P<step>\\d+)/(?P<total>\\d+)',
    'Epoch: \\[(?P<step>\\d+)\\]\\[\\s*\\d+/\\d+\\]\\s+.*Loss (?P<loss>\\d+\\.\\d+)',
    '(?i)^train: (?P<step>[0-9]+) +.*(?:loss|Loss)=(?P<loss>-?\\d+(?:\\.\\d*)?(?:e[-+]?\\d+)?)$',
    '(?P<step>\\d{1,9})(?=\\s)[^]]*',
    '\\x41\\u00e9{2}(?:ab){3}',
  ])('of this form is accepted: %s', (text) => {
    expect(patternFacts(text).problems).toEqual([]);
  });

  it.each([
    ['(a+)+$', 'repeats a group'],
    ['(?:a|aa)+$', 'repeats a group'],
    ['(?:a?){30}', 'repeats a group'],
    ['.*.*.*.*x', 'without a limit'],
    ['(?P<a>\\d)(?P<a>\\d)', 'twice'],
    ['(a', 'without )'],
    ['a)', 'closes nothing'],
    ['a**', 'repeats a repeat'],
    ['a++', 'repeats a repeat'],
    ['[z-a]', 'no regular expression'],
    ['(?<step>\\d+)', 'does not accept'],
    ['(a)\\1', 'does not accept'],
    ['\\p{L}', 'does not accept'],
    ['(?P=a)', 'does not accept'],
    ['(?(1)a|b)', 'does not accept'],
    ['[a', 'does not accept'],
    ['*a', 'does not accept'],
    ['', '1 to 400'],
    ['a'.repeat(401), '1 to 400'],
    ['a\nb', 'newlines'],
    ['('.repeat(200), 'to no end'],
  ])('is refused: %s', (text, why) => {
    expect(patternFacts(text).problems.join()).toContain(why);
  });
});

it('an objective names a metric and its better side', () => {
  expect(problemsOf(objectiveSchema, { metric: 'eval/top-1 accuracy', mode: 'max' })).toEqual([]);
  expect(problemsOf(objectiveSchema, { metric: 'a\nb', mode: 'best' })).toEqual([
    expect.stringContaining('leave out control characters'),
    expect.stringContaining('write min or max'),
  ]);
});
