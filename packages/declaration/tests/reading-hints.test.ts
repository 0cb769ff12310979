import { expect, it } from 'vitest';
import { readDeclaration } from '../schema/declaration.ts';
import { readingHints } from '../schema/reading-hints.ts';

function hintsOf(format: string, inputMode: string): readonly string[] {
  const read = readDeclaration(
    'digits',
    `name: digits
packing: { format: ${format}, label: none }
training: { strategy: single, inputMode: ${inputMode} }
compute: { instanceTypes: [g5.xlarge] }
`,
  );
  if (!read.valid) throw new Error(JSON.stringify(read.problems));
  return readingHints(read.pipeline);
}

it.each([
  ['webdataset', 'ignore_zeros=True'],
  ['tfrecord', 'by their frames'],
])('a Pipe of %s names the reader that fails', (format, remedy) => {
  expect(hintsOf(format, 'Pipe')).toEqual([expect.stringContaining(remedy)]);
});

it.each([
  ['recordio', 'Pipe'],
  ['webdataset', 'FastFile'],
])('%s by %s needs no hint', (format, inputMode) => {
  expect(hintsOf(format, inputMode)).toEqual([]);
});
