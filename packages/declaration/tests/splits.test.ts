/** What a declaration may say of splits, and what it reads where it says it wrong. */
import { describe, expect, it } from 'vitest';
import { readDeclaration } from '../schema/declaration.ts';

const problemsOf = (split: string, training = '{ strategy: ddp }'): string[] => {
  const text = `
name: digits
training: ${training}
compute: { instanceTypes: [g5.xlarge] }
packing: { split: ${split} }
`;
  const declaration = readDeclaration('digits', text);
  return declaration.valid ? [] : declaration.problems.map(({ path, message }) => `${path}: ${message}`);
};

describe('packing.split', () => {
  it.each([
    '{ train: 0.9, validation: 0.1 }',
    '{ train: 0.8, test: 0.2, by: key }',
    '{ train: 0.7, validation: 0.2, test: 0.1 }',
    "{ train: 0.5, validation: 0.5, by: group, groupPattern: '^([^/]+)/' }",
  ])('may be %s', (split) => {
    expect(problemsOf(split)).toEqual([]);
  });

  it.each([
    ['{ train: 0.9 }', 'packing.split: .*name a second part beside train, such as validation: 0.1'],
    ['{ train: 0.9, validation: 0.2 }', 'packing.split: .*the shares give 1.1: make them give 1'],
    ['{ train: 90, validation: 10 }', 'packing.split.train: .*90'],
    ['{ validation: 0.1, test: 0.9 }', 'packing.split.train: '],
    ['{ train: 0.9, validation: 0.1, by: group }', 'packing.split.groupPattern: .*say what a group is'],
    ["{ train: 0.9, validation: 0.1, groupPattern: '(a)' }", 'packing.split.by: .*write by: group'],
    [
      '{ train: 0.9, validation: 0.1, by: group, groupPattern: patient }',
      'packing.split.groupPattern: .*one group in brackets',
    ],
    ['{ train: 0.9, holdout: 0.1 }', 'packing.split: .*holdout'],
  ])('%s is refused with the remedy', (split, problem) => {
    expect(problemsOf(split)).toContainEqual(expect.stringMatching(new RegExp(problem)));
  });

  it('and a declared channel may share a name', () => {
    const training =
      "{ strategy: ddp, channels: { validation: { s3: holdout/ } }, arguments: ['${channel:shards_validation}'] }";
    expect(problemsOf('{ train: 0.9, validation: 0.1 }', training)).toEqual([]);
    expect(problemsOf('{ train: 0.9, test: 0.1 }', training)).toEqual([
      expect.stringMatching(/\{channel:shards_validation\} is named, but neither/),
    ]);
  });

  it('gives the channels that arguments may name', () => {
    const training = "{ strategy: ddp, arguments: [--val, '${channel:validation}'] }";
    expect(problemsOf('{ train: 0.9, validation: 0.1 }', training)).toEqual([]);
    expect(problemsOf('{ train: 0.9, test: 0.1 }', training)).toEqual([
      expect.stringMatching(/neither training.channels nor packing.split gives it/),
    ]);
  });
});
