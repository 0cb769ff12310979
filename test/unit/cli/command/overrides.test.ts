import { describe, expect, it } from 'vitest';
import { overridesOf, setOption, unseenText } from '../../../../cli/command/overrides.ts';

describe('overrides', () => {
  it('set hyperparameters by their bare names', () => {
    expect(overridesOf(['lr=0.001', 'optimizer=adam', 'a.b=true'])).toEqual({
      training: { hyperparameters: { lr: 0.001, optimizer: 'adam', 'a.b': true } },
    });
  });

  it('set fields by their paths', () => {
    expect(overridesOf(['compute.nodes=2', 'limits.attempts=9', 'compute.instanceTypes=[a, b]'])).toEqual({
      compute: { nodes: 2, instanceTypes: ['a', 'b'] },
      limits: { attempts: 9 },
    });
  });

  it('keep texts of the script as they are written', () => {
    const set = [
      'training.frameworkVersion=2.10',
      'training.environment.SEED=007',
      'training.arguments=[--lr, 1.0]',
    ];
    expect(overridesOf(set)).toEqual({
      training: { frameworkVersion: '2.10', environment: { SEED: '007' }, arguments: ['--lr', '1.0'] },
    });
  });

  it('know the limits by short names', () => {
    expect(overridesOf(['deadline=12', 'budget='])).toEqual({
      limits: { deadlineHours: 12, budgetUsd: null },
    });
  });

  it('keep a value with equals signs whole', () => {
    expect(overridesOf(['query=a=b'])).toEqual({ training: { hyperparameters: { query: 'a=b' } } });
  });

  it('pollute no prototype', () => {
    overridesOf(['training.__proto__.polluted=1']);
    expect(Reflect.get({}, 'polluted')).toBeUndefined();
  });

  it.each([
    ['trianing.strategy=mpi', 'did you mean training.strategy?'],
    ['dedline=3', 'did you mean deadline?'],
    ['limits=3', 'limits.FIELD=VALUE'],
    ['training.workers=2', 'an argument of the script is named alone: workers=VALUE'],
    ['training.argumnets=[a]', 'did you mean training.arguments?'],
  ])('refuse %j as mistyped', (text, message) => {
    expect(setOption.safeParse([text]).error?.message).toContain(message);
  });

  it('say what the script does not see', () => {
    const line = ['--data', '${channel:data}'];
    const sets = ['lr=1', 'deadline=3', 'training.hyperparameters.epochs=2'];
    expect(unseenText({ arguments: line }, sets)).toMatch(/^training.arguments does not pass lr, epochs /);
    expect(unseenText({ arguments: line }, ['deadline=3'])).toBeUndefined();
    expect(unseenText({ arguments: [...line, '${hyperparameters}'] }, sets)).toBeUndefined();
    expect(unseenText({}, sets)).toBeUndefined();
  });

  it('refuse a word without a value', () => {
    expect(setOption.safeParse(['lr']).error?.message).toMatch(/NAME=VALUE/);
    expect(setOption.parse(['lr=1'])).toEqual(['lr=1']);
  });
});
