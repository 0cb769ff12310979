/** Utilisation as columns that a chart draws, and what the doctor said of it. */
import type { Operations } from '../../client/operations.ts';
import type { Mark } from './life-line.ts';

export type UtilisationView = Operations['getUtilisation']['answer'];
type Point = UtilisationView['points'][number];
type Column = (number | null | undefined)[];

/** Seconds since 1970, then CPU, GPU and waiting. null interrupts the lines: between two attempts nothing ran. */
export function columnsOfUtilisation(points: readonly Point[]): [number[], Column, Column, Column] {
  const columns: [number[], Column, Column, Column] = [[], [], [], []];
  const add = (...row: readonly [number, ...Column]): void => {
    const [x, cpu, gpu, waiting] = row;
    columns[0].push(x);
    columns[1].push(cpu);
    columns[2].push(gpu);
    columns[3].push(waiting);
  };
  points.forEach(({ at, attempt, cpuBusy, gpuBusy, waiting }, place) => {
    const before = points[place - 1];
    const x = Date.parse(at) / 1000;
    if (before !== undefined && before.attempt !== attempt)
      add((Date.parse(before.at) / 1000 + x) / 2, null, null, null);
    add(x, cpuBusy, gpuBusy ?? null, waiting);
  });
  return columns;
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
