/** Capacity as it was once measured: a trace for each zone, in the format of the published Spot traces. */

import { type CapacityPlan, type MarketSecond, PLENTY } from '../model/capacity-plan.ts';
import type { MarketPool } from '../model/offers.ts';
import { readTraceFile, type Trace } from './trace-file.ts';

export interface TraceScript {
  readonly kind: 'trace';
  /** Zone id to trace. Zones without one never have Spot capacity. */
  readonly zones: Readonly<Record<string, Trace>>;
}

/** After its last tick a trace begins again. Every instance type of the zone has the zone's count. */
export function tracePlan({ zones }: TraceScript): CapacityPlan {
  const tickOf = (trace: Trace, at: MarketSecond): number => Math.floor(at / trace.metadata.gap_seconds);

  return {
    capacityAt: ({ zoneId }: MarketPool, at) => {
      const trace = zones[zoneId];
      if (at < 0) return PLENTY;
      return trace ? valueAt(trace, tickOf(trace, at)) : 0;
    },
    nextChange: ({ zoneId }, at) => {
      const trace = zones[zoneId];
      if (at < 0) return 0;
      if (!trace) return undefined;
      const tick = tickOf(trace, at);
      const value = valueAt(trace, tick);
      // A trace in which nothing changes is looked through once, not for ever.
      for (let step = 1; step <= trace.data.length; step += 1) {
        if (valueAt(trace, tick + step) !== value) return (tick + step) * trace.metadata.gap_seconds;
      }
      return undefined;
    },
  };
}

/** Reads a trace file; a file of another shape is refused with what is wrong in it. */
export function readTrace(file: string): Trace {
  const checked = readTraceFile(file);
  if (checked.ok) return checked.value;
  const { problems, cause } = checked;
  throw new TypeError(`${file} is no Spot trace: ${problems.join('; ')}`, { cause });
}

const valueAt = (trace: Trace, tick: number): number => trace.data[tick % trace.data.length] ?? 0;
