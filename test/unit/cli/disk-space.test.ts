import { expect, it } from 'vitest';
import { tellSpace } from '../../../cli/show/disk-space.ts';

it('a disk that fills and empties is reported twice', () => {
  const lines: string[] = [];
  const screen = { problem: (text: string) => lines.push(text), done: (text: string) => lines.push(text) };
  let wasFull = false;
  for (const freeBytes of [5e9, 63e6, 1e6, 0, 70e6, 5e9])
    wasFull = tellSpace(screen, { folder: '/state', freeBytes, wasFull });
  expect(lines).toEqual([
    expect.stringContaining('/state is nearly full (63 MB left)'),
    'the disk of /state has room again (70 MB)',
  ]);
});
