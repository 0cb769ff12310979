/** The table at the end of `npm start -- --chaos`. */
import { tableText } from '../command/format.ts';
import type { Losses } from './losses.ts';

const HEAD = ['fault', 'times', 'without a new step', 'at most', 'lost'];

const cell = (seconds: number | undefined): string =>
  seconds === undefined ? '-' : `${seconds.toFixed(1)} s`;

/** @param weights completes "weights equal: ..." */
export function chaosLines({ byFault, trainedShare }: Losses, weights: string): string[] {
  const rows = byFault.map(({ fault, times, stillSeconds, longestSeconds, lostSeconds }) => [
    fault,
    String(times),
    cell(stillSeconds),
    cell(longestSeconds),
    cell(lostSeconds),
  ]);
  const times = byFault.reduce((sum, each) => sum + each.times, 0);
  const lost = byFault.reduce((sum, each) => sum + each.lostSeconds, 0);
  const table = tableText([HEAD, ...rows, ['all', String(times), '', '', cell(lost)]]);
  return [
    ...table.split('\n').map((line) => `  ${line}`),
    `  of the hosts' time ${(100 * trainedShare).toFixed(1)} % trained what counts`,
    `  weights equal: ${weights}`,
  ];
}
