import { expect, it } from 'vitest';
import { readDeclaration } from '../schema/declaration.ts';
import { readingHints } from '../schema/reading-hints.ts';

const declarationOf = (format: string, inputMode: string) =>
  readDeclaration(
    'digits',
    `name: digits
packing: { format: ${format}, label: none }
training: { strategy: single, inputMode: ${inputMode} }
compute: { instanceTypes: [g5.xlarge] }
`,
  );

function hintsOf(format: string, inputMode: string): readonly string[] {
  const read = declarationOf(format, inputMode);
  if (!read.valid) throw new Error(JSON.stringify(read.problems));
  return readingHints(read.pipeline);
}

it.each([
  ['webdataset', 'pipes.tar_samples'],
  ['tfrecord', 'pipes.tfrecords'],
])('a Pipe of %s names the reader that fails', (format, remedy) => {
  expect(hintsOf(format, 'Pipe')).toEqual([expect.stringContaining(remedy)]);
});

it.each([
  ['recordio', 'Pipe'],
  ['webdataset', 'FastFile'],
])('%s by %s needs no hint', (format, inputMode) => {
  expect(hintsOf(format, inputMode)).toEqual([]);
});

it.each([
  ['mds', 'by the offsets of an index'],
  ['parquet', 'at the end of a file'],
])('no Pipe carries %s', (format, because) => {
  const read = declarationOf(format, 'Pipe');
  const [problem, ...others] = read.valid ? [] : read.problems;
  expect(others).toEqual([]);
  expect(problem?.path).toBe('training.inputMode');
  expect(problem?.message).toContain(because);
  expect(problem?.message).toContain('write FastFile or File');
  expect(declarationOf(format, 'FastFile').valid).toBe(true);
});
