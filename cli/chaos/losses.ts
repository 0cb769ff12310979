/** What faults cost, from the moments of the steps, and the table of it: pure. */
import { tableText } from '../command/format.ts';
import { CHAOS_FAULTS, type ChaosFault } from './faults.ts';

/** A step that the gang has made. */
export interface StepMade {
  /** Unix milliseconds. */
  readonly at: number;
  /** Names the hosts' stay. A later stay may repeat a step number. */
  readonly stay: string;
  readonly step: number;
}

export interface StruckFault {
  readonly fault: ChaosFault;
  /** Unix milliseconds. */
  readonly at: number;
}

interface Loss {
  readonly fault: ChaosFault;
  readonly times: number;
  /** The longest time after it without a step that counts: mean, and longest. */
  readonly stillSeconds: number | undefined;
  readonly longestSeconds: number | undefined;
  /** In which nothing was trained that counts. */
  readonly lostSeconds: number;
}

export interface Losses {
  readonly byFault: readonly Loss[];
  /** Share of the time from the first step until the faults end. Hosts step together, so each has this share. */
  readonly trainedShare: number;
}

interface TimedStep extends StepMade {
  readonly seconds: number;
  /** No later stay repeats it. */
  readonly counts: boolean;
}

/** @param until Unix milliseconds: what comes later is left out. */
export function lossesOf(struck: readonly StruckFault[], made: readonly StepMade[], until: number): Losses {
  const steps = timed(made);
  const from = steps[0]?.at ?? until;
  const to = Math.min(until, steps.at(-1)?.at ?? until);
  // A slow host makes a step longer: from twice the usual length on, the usual length counts.
  const usual = median(steps.flatMap(({ seconds }) => (seconds > 0 ? [seconds] : [])));
  const sumOf = (after: number, upTo: number, counts: boolean): number =>
    steps
      .filter((step) => step.counts === counts && step.at > after && step.at <= upTo)
      .reduce((total, { seconds }) => total + (seconds < 2 * usual ? seconds : usual), 0);
  const inTime = struck.filter(({ at }) => at < to);
  const counting = steps.filter(({ counts }) => counts);
  const each = inTime.map(({ fault, at }, index) => {
    const before = inTime[index - 1]?.at ?? from;
    const next = inTime[index + 1]?.at ?? to;
    const trained = sumOf(at, next, true) + sumOf(at, next, false);
    // Steps before it that are made again because of it.
    const lostSeconds = (next - at) / 1_000 - trained + sumOf(before, at, false);
    return { fault, lostSeconds, stillSeconds: secondsStill(counting, at, next) };
  });
  const byFault = CHAOS_FAULTS.map((fault) =>
    lossOf(
      fault,
      each.filter((one) => one.fault === fault),
    ),
  );
  return { byFault, trainedShare: to > from ? sumOf(from, to, true) / ((to - from) / 1_000) : 0 };
}

function lossOf(
  fault: ChaosFault,
  each: readonly { readonly lostSeconds: number; readonly stillSeconds: number }[],
): Loss {
  const waits = each.map(({ stillSeconds }) => stillSeconds);
  return {
    fault,
    times: each.length,
    stillSeconds: waits.length === 0 ? undefined : sum(waits) / waits.length,
    longestSeconds: waits.length === 0 ? undefined : Math.max(...waits),
    lostSeconds: sum(each.map(({ lostSeconds }) => lostSeconds)),
  };
}

function timed(made: readonly StepMade[]): TimedStep[] {
  const inOrder = made.toSorted((one, other) => one.at - other.at);
  const last = new Map(inOrder.map((each) => [each.step, each]));
  const before = new Map<string, number>();
  return inOrder.map((each) => {
    const seconds = (each.at - (before.get(each.stay) ?? each.at)) / 1_000;
    before.set(each.stay, each.at);
    return { ...each, seconds, counts: last.get(each.step) === each };
  });
}

function secondsStill(counting: readonly StepMade[], from: number, to: number): number {
  const moments = [from, ...counting.flatMap(({ at }) => (at > from && at < to ? [at] : [])), to];
  return Math.max(...moments.slice(1).map((at, index) => at - (moments[index] ?? at))) / 1_000;
}

const sum = (values: readonly number[]): number => values.reduce((total, each) => total + each, 0);

function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

const HEAD = ['fault', 'times', 'until it goes on', 'at most', 'lost'];

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
  const times = sum(byFault.map((each) => each.times));
  const lost = sum(byFault.map((each) => each.lostSeconds));
  const table = tableText([HEAD, ...rows, ['all', String(times), '', '', cell(lost)]]);
  return [
    ...table.split('\n').map((line) => `  ${line}`),
    `  of the hosts' time ${(100 * trainedShare).toFixed(1)} % trained what counts`,
    `  weights equal: ${weights}`,
  ];
}
