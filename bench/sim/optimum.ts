/**
 * The least that any schedule could have cost that ends by the deadline and knows the whole trace: an exact backward
 * recursion over ticks, on the lattice of work left that the tick and the restart have in common.
 * State: what runs, in which zone. A start is one step over all ticks that it owes time in: who knows the trace begins
 * none that it would leave before it has brought anything, since to wait instead costs less.
 */
import type { Setting } from '../../test/support/market/job.ts';

type Row = Float64Array;

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/** Work that can be left at a tick: not less than if all ticks had run, not more than still fits before the deadline. */
interface Band {
  readonly from: number;
  readonly to: number;
}

/** The costs to the end from one moment, by cells of work left; only those of the band count, and none is left at cell 0. */
interface Moment {
  band: Band;
  readonly stopped: Row;
  readonly onDemand: Row;
  readonly own: readonly Row[];
  /** By zone: its own row, or that of what stands still where there is no capacity. */
  readonly spot: Row[];
}

/** A move that takes `gain` cells of work away for `usd`. */
interface Move {
  readonly gain: number;
  readonly usd: number;
}

interface Lattice {
  readonly cells: number;
  /** Ticks that begin before the deadline, the last of them maybe cut short by it. */
  readonly ticks: number;
  /** That a start owes time in, and never less than one. */
  readonly startTicks: number;
  bandAt(tick: number): Band;
  /** Cells of work that running from this tick for so many brings, those of a start less. */
  gain(tick: number, ticks: number, starts: boolean): number;
}

/** Whole cells, each of so much work as every tick and every start are multiples of. */
interface Counted {
  readonly tick: number;
  readonly restart: number;
  readonly work: number;
  readonly deadline: number;
}

/** What runs in whole ticks and starts does whole cells of work; so work and deadline are rounded without a change. */
function countedIn(parts: number, setting: Setting): Counted {
  const { tickSeconds, restartSeconds, workSeconds, deadlineSeconds } = setting;
  // What of a restart does not fit into the parts is cut off, so that no schedule costs less than the optimum.
  const restart = Math.floor(parts * restartSeconds + 1e-3);
  const unit = gcd(parts * tickSeconds, restart) / parts;
  const up = (seconds: number): number => Math.ceil(seconds / unit - 1e-6);
  const work = up(workSeconds);
  return {
    tick: Math.round(tickSeconds / unit),
    restart: Math.round(restart / parts / unit),
    work,
    deadline: work - up(workSeconds - deadlineSeconds),
  };
}

/** A window of more steps than these takes seconds. */
const MOST_STEPS = 3e8;

const stepsOf = ({ tick, work, deadline }: Counted, zones: number): number =>
  Math.max(0, deadline - work) * (deadline / tick) * (2 + zones);

/** In parts of a second that have the restart whole, or else in the finest that are quick enough. */
function counted(setting: Setting): Counted {
  let finest = countedIn(1, setting);
  for (const parts of [1, 10, 100, 1_000]) {
    const here = countedIn(parts, setting);
    if (stepsOf(here, setting.spotUsd.length) > MOST_STEPS) break;
    finest = here;
    const restart = parts * setting.restartSeconds;
    if (Math.abs(restart - Math.round(restart)) < 1e-3) break;
  }
  return finest;
}

const startTicksOf = ({ tick, restart }: Pick<Counted, 'tick' | 'restart'>): number =>
  Math.max(1, Math.ceil(restart / tick));

function latticeOf({ tick, restart, work, deadline }: Counted): Lattice {
  return {
    cells: work + 1,
    ticks: Math.ceil(deadline / tick),
    startTicks: startTicksOf({ tick, restart }),
    bandAt: (at) => ({
      from: Math.max(0, work - at * tick),
      to: Math.max(0, Math.min(work, deadline - at * tick)),
    }),
    gain: (at, ticks, starts) =>
      Math.max(0, Math.min((at + ticks) * tick, deadline) - at * tick - (starts ? restart : 0)),
  };
}

/** USD; Infinity when not even On-Demand from the start ends in time. */
export function optimumUsd(setting: Setting, zones: readonly (readonly boolean[])[]): number {
  const inCells = counted(setting);
  if (inCells.work + inCells.restart > inCells.deadline) return Number.POSITIVE_INFINITY;
  const lattice = latticeOf(inCells);
  const { cells, ticks, startTicks } = lattice;
  const tickHours = setting.tickSeconds / 3_600;
  const onDemandTick = setting.onDemandUsd * tickHours;
  const spots = zones.map((trace, zone) => ({
    trace,
    tickUsd: (setting.spotUsd[zone] ?? setting.onDemandUsd) * tickHours,
  }));
  // As many moments as a start reaches over, used in turn.
  const ring = Array.from({ length: startTicks + 1 }, () => blank(cells, zones.length));
  const momentAt = (tick: number): Moment => ring[tick % ring.length] ?? blank(cells, zones.length);
  finish(momentAt(ticks), lattice.bandAt(ticks));
  for (let tick = ticks - 1; tick >= 0; tick -= 1) {
    const here = momentAt(tick);
    here.band = lattice.bandAt(tick);
    stand(here, momentAt(tick + 1));
    if (tick + startTicks <= ticks) {
      const gain = lattice.gain(tick, startTicks, true);
      const begun = momentAt(tick + startTicks);
      lower(here, begun, begun.onDemand, { gain, usd: startTicks * onDemandTick });
      for (const [zone, { trace, tickUsd }] of spots.entries())
        if (lasts(trace, tick, startTicks))
          lower(here, begun, begun.spot[zone], { gain, usd: startTicks * tickUsd });
    }
    const gain = lattice.gain(tick, 1, false);
    const next = momentAt(tick + 1);
    stay(here, here.onDemand, next.onDemand, { gain, usd: onDemandTick });
    for (const [zone, { trace, tickUsd }] of spots.entries())
      here.spot[zone] =
        trace[tick] === true
          ? stay(here, here.own[zone], next.spot[zone], { gain, usd: tickUsd })
          : here.stopped;
  }
  return momentAt(0).stopped[cells - 1] ?? Number.POSITIVE_INFINITY;
}

function blank(cells: number, zones: number): Moment {
  const row = (): Row => new Float64Array(cells).fill(Number.POSITIVE_INFINITY);
  const own = Array.from({ length: zones }, row);
  return { band: { from: 0, to: 0 }, stopped: row(), onDemand: row(), own, spot: [...own] };
}

/** At the deadline nothing may be left. */
function finish(moment: Moment, band: Band): void {
  moment.band = band;
  for (const row of [moment.stopped, moment.onDemand, ...moment.own]) {
    row.fill(Number.POSITIVE_INFINITY);
    row[0] = 0;
  }
}

function lasts(trace: readonly boolean[], from: number, ticks: number): boolean {
  for (let tick = from; tick < from + ticks; tick += 1) if (trace[tick] !== true) return false;
  return true;
}

/** Nothing runs: what fits no more at the next tick cannot wait. */
function stand({ band, stopped }: Moment, next: Moment): void {
  for (let w = band.from; w <= band.to; w += 1)
    stopped[w] = w <= next.band.to ? (next.stopped[w] ?? 0) : Number.POSITIVE_INFINITY;
}

/** stopped[w] = min(stopped[w], to[w - gain] + usd), as far as `to` reaches. */
function lower({ band, stopped }: Moment, then: Moment, to = stopped, { gain, usd }: Move): void {
  const done = Math.min(gain, band.to);
  for (let w = band.from; w <= done; w += 1) if (w > 0 && usd < (stopped[w] ?? 0)) stopped[w] = usd;
  const last = Math.min(band.to, then.band.to + gain);
  for (let w = Math.max(gain + 1, band.from); w <= last; w += 1) {
    const value = (to[w - gain] ?? 0) + usd;
    if (value < (stopped[w] ?? 0)) stopped[w] = value;
  }
}

/** row[w] = min(stopped[w], to[w - gain] + usd): stop, or continue what runs. Nothing left costs nothing. */
function stay({ band, stopped }: Moment, row = stopped, to = stopped, { gain, usd }: Move): Row {
  const done = Math.min(gain, band.to);
  for (let w = band.from; w <= done; w += 1) row[w] = w === 0 ? 0 : Math.min(stopped[w] ?? 0, usd);
  for (let w = Math.max(gain + 1, band.from); w <= band.to; w += 1) {
    const value = (to[w - gain] ?? 0) + usd;
    const otherwise = stopped[w] ?? 0;
    row[w] = value < otherwise ? value : otherwise;
  }
  return row;
}
