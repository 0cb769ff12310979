/**
 * The least that any schedule could have cost that ends by the deadline and knows the whole trace: an exact backward
 * recursion over ticks, on the lattice of work left that the tick, the restart and the work have in common.
 * State: what ran in the last tick, in which zone, with how much start-up still to pay.
 */
import type { Setting } from './world.ts';

type Row = Float64Array;

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

/** The start-up debts that a running job can have after each of its first ticks; the last is 0. */
function debtPhases(restart: number, tick: number): readonly number[] {
  const phases: number[] = [];
  let debt = restart;
  do {
    debt = Math.max(0, debt - tick);
    phases.push(debt);
  } while (debt > 0);
  return phases;
}

/** Work that can be left at a tick: not less than if all ticks had run, not more than still fits before the deadline. */
interface Band {
  readonly from: number;
  readonly to: number;
}

/** USD; Infinity when not even On-Demand from the start ends in time. */
export function optimumUsd(setting: Setting, zones: readonly (readonly boolean[])[]): number {
  const tick = Math.round(setting.tickSeconds);
  const restart = Math.round(setting.restartSeconds);
  const work = Math.round(setting.workSeconds);
  const unit = gcd(gcd(tick, restart), work);
  const cells = work / unit + 1;
  const wholeTicks = Math.floor(setting.deadlineSeconds / tick);
  const tail = setting.deadlineSeconds - wholeTicks * tick;
  const phases = debtPhases(restart, tick);
  const onDemandTick = (setting.onDemandUsd * tick) / 3_600;
  const spotTick = zones.map((_, zone) => ((setting.spotUsd[zone] ?? setting.onDemandUsd) * tick) / 3_600);

  const blank = (): Row => new Float64Array(cells).fill(Number.POSITIVE_INFINITY);
  const finished = (): Row => {
    const row = blank();
    row[0] = 0;
    return row;
  };
  let idle = finished();
  let onDemand = phases.map(finished);
  let spot = zones.map(() => phases.map(finished));

  for (let t = tail > 0 ? wholeTicks : wholeTicks - 1; t >= 0; t -= 1) {
    const last = t === wholeTicks;
    const room = last ? tail : tick;
    const band: Band = {
      from: Math.max(0, cells - 1 - Math.ceil((t * tick) / unit)),
      to: Math.min(cells - 1, Math.floor((setting.deadlineSeconds - t * tick) / unit)),
    };
    /** Lowers `out` to the cost of running this tick with that debt. */
    const run = (out: Row, after: readonly Row[], debt: number, tickUsd: number): void => {
      const gain = Math.floor(Math.max(room - debt, 0) / unit);
      if (!last)
        lower(out, after[phases.indexOf(Math.max(0, debt - tick))] ?? out, { gain, add: tickUsd }, band);
      else for (let w = 0; w < Math.min(cells, gain + 1); w += 1) out[w] = Math.min(out[w] ?? 0, tickUsd);
    };
    const freshSpot = blank();
    for (const [zone, trace] of zones.entries()) {
      if (trace[t]) run(freshSpot, spot[zone] ?? [], restart, spotTick[zone] ?? 0);
    }
    const stop = idle.slice();
    lower(stop, freshSpot, { gain: 0, add: 0 }, band);
    const start = stop.slice();
    run(start, onDemand, restart, onDemandTick);
    start[0] = 0;
    const nextOnDemand = phases.map((debt) => {
      const row = stop.slice();
      run(row, onDemand, debt, onDemandTick);
      row[0] = 0;
      return row;
    });
    spot = zones.map((trace, zone) =>
      phases.map((debt) => {
        if (!trace[t]) return start;
        const row = start.slice();
        run(row, spot[zone] ?? [], debt, spotTick[zone] ?? 0);
        row[0] = 0;
        return row;
      }),
    );
    idle = start;
    onDemand = nextOnDemand;
  }
  return idle[cells - 1] ?? Number.POSITIVE_INFINITY;
}

/** out[w] = min(out[w], source[max(0, w - gain)] + add) over the band */
function lower(
  out: Row,
  source: Row,
  { gain, add }: { readonly gain: number; readonly add: number },
  band: Band,
): void {
  const head = (source[0] ?? 0) + add;
  for (let w = band.from; w < gain && w <= band.to; w += 1) if (head < (out[w] ?? 0)) out[w] = head;
  for (let w = Math.max(gain, band.from); w <= band.to; w += 1) {
    const value = (source[w - gain] ?? 0) + add;
    if (value < (out[w] ?? 0)) out[w] = value;
  }
}
