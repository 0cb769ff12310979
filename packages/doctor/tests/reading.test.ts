import { expect, it } from 'vitest';
import { evidenceOf } from '../../../test/support/builders/evidence.ts';
import type { Evidence } from '../rules/evidence.ts';
import { readingOf } from '../rules/reading.ts';

/** 32 GiB of memory, a quarter of it taken by the processes: 26 GB are free for pages. */
const FREE = 0.75 * 32 * 2 ** 30;
const withDisk = (evidence: Evidence, readBytesPerSecond: number): Evidence => ({
  ...evidence,
  points: evidence.points.map((point) => ({ ...point, disk: { ...point.disk, readBytesPerSecond } })),
});

it('a stream reads what the network brings', () => {
  const evidence = evidenceOf([{ received: 1e8 }], {}, { inputMode: 'FastFile' });
  expect(readingOf(evidence)).toMatchObject({ inputMode: 'FastFile', bytesPerStep: 2e7, dataBytes: 1e9 });
});

it('a disk brings what the page cache has lost', () => {
  const data = { bytes: 2 * FREE, files: 10 };
  const reading = readingOf(withDisk(evidenceOf([{}], {}, { data }), 1e8));
  expect(reading?.bytesPerStep).toBeCloseTo((2 * 1e8) / 5, 0);
  expect(reading?.processBytes).toBeCloseTo(FREE / 3, 0);
});

it('data in the page cache tells nothing', () => {
  expect(readingOf(withDisk(evidenceOf([{}]), 1e8))).toBeUndefined();
});
