/** Names of objects are hostile: what passes is a file below its folder, everything else is refused with its name. */

import path from 'node:path';
import { belongsToSource } from '@tidewheel/declaration/script.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { packedSourceProblems, packSource } from '../../../functions/launch/source/pin-source.ts';

const WHERE = { where: 's3://b/digits/source/', entryPoint: 'train.py' };
const problemsOf = (...names: string[]): string[] =>
  packedSourceProblems(
    ['train.py', ...names].map((name) => ({ name, size: 1 })),
    WHERE,
  );

describe('the folder that the script runs in', () => {
  it.each(['vit', '${checkpoints}'])('may be %s', (workingDirectory) => {
    const entries = ['train.py', 'vit/config.yaml'].map((name) => ({ name, size: 1 }));
    expect(packedSourceProblems(entries, { ...WHERE, workingDirectory })).toEqual([]);
  });

  it('has to hold something', () => {
    expect(
      packedSourceProblems([{ name: 'train.py', size: 1 }], { ...WHERE, workingDirectory: 'vit' }),
    ).toEqual([expect.stringContaining('vit is no folder under s3://b/digits/source/')]);
  });
});

describe('the names of a source', () => {
  it.each([
    '../outside',
    'a/../../outside',
    'a/..',
    '/etc/passwd',
    '//etc/passwd',
    'a//b',
    './a',
    'a/.',
    '..',
    'a\0b',
    'a\nb',
    'a\u001b[31mb',
    'x'.repeat(256),
    'x'.repeat(1_024),
    `${'x/'.repeat(600)}y`,
    'ü'.repeat(128),
    'train.py/b',
  ])('refuse %j', (name) => {
    const problems = problemsOf(name);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain('rename');
  });

  it.each([
    'a/b.py',
    'ü \u{1F30A}.txt',
    '$(id)',
    "'; rm -rf ~",
    'a b',
    '..a',
    'a..',
    '.env',
    'a\\..\\b',
    '-rf',
  ])('take %j as it is', (name) => {
    expect(problemsOf(name)).toEqual([]);
  });

  it('lead to a file below the folder when accepted', () => {
    const hostile = fc.array(fc.constantFrom('..', '.', '', '/', 'a', '\\', '\0', 'ü', '~', ' '), {
      maxLength: 6,
    });
    fc.assert(
      fc.property(hostile, fc.constantFrom('/', ''), (parts, joint) => {
        const name = parts.join(joint);
        if (!belongsToSource(name) || problemsOf(name).length > 0) return;
        const there = path.posix.resolve('/opt/ml/code', name);
        expect(there.startsWith('/opt/ml/code/')).toBe(true);
        expect(there).toBe(`/opt/ml/code/${name}`);
      }),
    );
  });

  it('report all problems, shortened to the first few', () => {
    const [problem] = problemsOf(...Array.from({ length: 9 }, (_, index) => `../${index}`));
    expect(problem).toMatch(/"\.\.\/4".*and 4 more/s);
  });
});

describe('the size of a source', () => {
  it('is refused with the largest file and a remedy', () => {
    const entries = [
      { name: 'train.py', size: 10 },
      { name: 'weights.bin', size: 70_000_000 },
    ];
    expect(packedSourceProblems(entries, WHERE)[0]).toMatch(
      /limit is 67108864.*"weights\.bin".*training\.channels/s,
    );
  });

  it('is refused by the number of files, too', () => {
    expect(problemsOf(...Array.from({ length: 5_000 }, (_, index) => `${index}`))[0]).toMatch(/5001 files/);
  });
});

it('without its program is refused before the launch', () => {
  expect(packedSourceProblems([{ name: 'other.py', size: 1 }], WHERE)[0]).toMatch(
    /train\.py is not under s3:.*"other\.py"/,
  );
  expect(packedSourceProblems([], WHERE)).toEqual([
    'no object lies under s3://b/digits/source/: put train.py and what it needs there',
  ]);
});

it('has a hash independent of the read order', () => {
  const files = ['train.py', 'a/b'].map((name) => ({ name, bytes: Buffer.from(name) }));
  expect(packSource(files.toReversed()).digest).toBe(packSource(files).digest);
  expect(packSource(files.slice(1)).digest).not.toBe(packSource(files).digest);
});
