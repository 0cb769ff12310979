/** What is said of a script: a line of the table. */
import type { GainInterval } from '../../../functions/core/doctor/verdict.ts';

export interface Row {
  readonly name: string;
  /** Why nothing was measured: its first line stands in the table. */
  readonly problem: string | undefined;
  /** undefined: it is not known what is. */
  readonly isRight: boolean | undefined;
  readonly verdict: string;
  /** undefined, as for the next ones: not measured. */
  readonly stepSeconds: number | undefined;
  readonly forecast: GainInterval | undefined;
  /** Seconds of a step with the remedy taken. */
  readonly measured: number | undefined;
}

export const HEAD = ['script', 'verdict', 'right', 's a step', 'forecast', 'measured with the remedy'];

export const lineOf = (row: Row): readonly string[] => [
  row.name,
  row.problem === undefined ? row.verdict : `did not run: ${row.problem.split('\n', 1).join('')}`,
  row.isRight === undefined ? '' : row.isRight ? 'yes' : 'NO',
  secondsText(row.stepSeconds),
  row.forecast === undefined ? '' : intervalText(row.forecast),
  secondsText(row.measured),
];

const secondsText = (seconds: number | undefined): string => seconds?.toFixed(3) ?? '';

const intervalText = ({ expected, low, high }: GainInterval): string =>
  `${secondsText(expected)} (${secondsText(low)} to ${secondsText(high)})`;
