/** Utilisation as columns that a chart draws, and what the doctor said of it. */

import type uPlot from 'uplot';
import type { Operations } from '../../client/operations.ts';
import type { Mark } from './life-line.ts';

export type UtilisationView = Operations['getUtilisation']['answer'];
type Point = UtilisationView['points'][number];
type Row = readonly [x: number, ...(number | null)[]];

/** Seconds since 1970, then CPU, GPU and waiting. null interrupts the lines: between two attempts nothing ran. */
export function columnsOfUtilisation(points: readonly Point[]): uPlot.AlignedData {
  const rows = points.flatMap(({ at, attempt, cpuBusy, gpuBusy = null, waiting }, place): Row[] => {
    const [x, before] = [Date.parse(at) / 1000, points[place - 1]];
    const row: Row = [x, cpuBusy, gpuBusy, waiting];
    if (before === undefined || before.attempt === attempt) return [row];
    return [[(Date.parse(before.at) / 1000 + x) / 2, null, null, null], row];
  });
  return [rows.map(([x]) => x), ...[1, 2, 3].map((place) => rows.map((row) => row[place]))];
}

/** @returns undefined where no host has such a part */
export function meanOf(
  points: readonly Point[],
  name: 'cpuBusy' | 'gpuBusy' | 'waiting',
): number | undefined {
  const values = points.flatMap((point) => point[name] ?? []);
  return values.length === 0 ? undefined : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** A mark an attempt: its verdicts are of one moment. */
export const verdictMarks = (verdicts: UtilisationView['verdicts']): Mark[] =>
  [...Map.groupBy(verdicts, ({ attempt }) => attempt)].map(([attempt, all]) => ({
    kind: 'doctor',
    at: Date.parse(all[0]?.at ?? ''),
    text: `doctor on attempt ${attempt}: ${all.map(({ cause, remedy }) => (remedy === undefined ? cause : `${cause}, ${remedy}`)).join('; ')}`,
  }));
