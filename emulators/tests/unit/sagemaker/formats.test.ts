import { PassThrough } from 'node:stream';
import { shuffled } from '@tidewheel/kit/seeded-random.ts';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { readLines } from '../../../sagemaker/hosts/lines.ts';
import { scanLines } from '../../../sagemaker/hosts/metric-worker.ts';

test('lines are whole whatever the pieces they come in', async () => {
  const text = 'first\nzweite Zeile: äöü €\r\n\nlast without an end';
  for (const size of [1, 2, 3, 7, 1000]) {
    const stream = new PassThrough();
    const lines: string[] = [];
    const read = readLines(stream, (line) => lines.push(line));
    const bytes = Buffer.from(text);
    for (let at = 0; at < bytes.length; at += size) stream.write(bytes.subarray(at, at + size));
    stream.end();
    await read;
    expect(lines).toEqual(['first', 'zweite Zeile: äöü €', '', 'last without an end']);
  }
});

test('an endless line is cut', async () => {
  const stream = new PassThrough();
  const lines: string[] = [];
  const read = readLines(stream, (line) => lines.push(line));
  stream.end('x'.repeat(200_000));
  await read;
  expect(lines.map((line) => line.length)).toEqual([80_000, 80_000, 40_000]);
});

test('patterns catch numbers, and bad ones are named', () => {
  const answer = scanLines({
    id: 1,
    patterns: ['loss: ([-0-9.e]+)', '(', '(x+x+)+y', 'loss: (?P<v>\\S+)'],
    lines: ['loss: 0.5', 'x'.repeat(50), 'loss: 1e-3', 'loss: nan'],
  });
  expect(answer.hits).toEqual([
    { pattern: 0, line: 0, value: 0.5 },
    { pattern: 0, line: 2, value: 0.001 },
    { pattern: 3, line: 0, value: 0.5 },
    { pattern: 3, line: 2, value: 0.001 },
  ]);
  expect(answer.unusable.map(({ pattern }) => pattern)).toEqual([1, 2]);
});

test('a shuffle keeps items and follows its seed', () => {
  fc.assert(
    fc.property(fc.array(fc.nat()), fc.integer(), (items, seed) => {
      const mixed = shuffled(items, seed);
      expect(mixed).toEqual(shuffled(items, seed));
      expect([...mixed].toSorted((a, b) => a - b)).toEqual(items.toSorted((a, b) => a - b));
    }),
  );
  const many = Array.from({ length: 50 }, (_, index) => index);
  expect(shuffled(many, 1)).not.toEqual(shuffled(many, 2));
});
