/** Windows: stretches of traces with a job to be done in them. */
import * as z from 'zod';
import type { Setting } from '../../test/support/market/job.ts';
import { readTrace } from './traces.ts';

const TICK = 'give the tick of the trace that it begins with: 0, 1, 2, ...';
const COUNT = 'give 1, 2, 3, ...';
const PRICE = 'give USD an hour for the whole gang, above 0';
const HOURS = 'give hours, above 0';
const NO_LESS = 'give hours, 0 or more';
const ZONES = 'give one zone or more, each {"trace": "FILE", "startTick": 0, "spotPrice": 0.9731}';

const zoneSchema = z.object(
  {
    /** Relative to the folder of traces. */
    trace: z
      .string('give the path of a trace in the folder')
      .min(1, 'give the path of a trace in the folder'),
    startTick: z.number(TICK).int(TICK).min(0, TICK),
    /** Per hour, for the whole gang. */
    spotPrice: z.number(PRICE).positive(PRICE),
  },
  ZONES,
);

export const windowSchema = z.object(
  {
    id: z.union([z.string(), z.number()], 'give it a name: a text or a number'),
    zones: z.array(zoneSchema, ZONES).min(1, ZONES),
    /** How much of the traces it sees: no zone has capacity after the last of them. */
    ticks: z.number(COUNT).int(COUNT).min(1, COUNT),
    onDemandPrice: z.number(PRICE).positive(PRICE),
    /** The gang: a tick has capacity when so many instances are available. */
    nodes: z.number(COUNT).int(COUNT).min(1, COUNT).default(1),
    workHours: z.number(HOURS).positive(HOURS),
    deadlineHours: z.number(HOURS).positive(HOURS),
    restartHours: z.number(NO_LESS).min(0, NO_LESS),
  },
  'give {"id", "zones", "ticks", "onDemandPrice", "nodes", "workHours", "deadlineHours", "restartHours"}',
);

export type Window = z.infer<typeof windowSchema>;

/** Whether each zone has capacity for the gang, tick by tick. */
export const capacityIn = (folder: string, window: Window): readonly (readonly boolean[])[] =>
  window.zones.map(({ trace, startTick }) =>
    readTrace(folder, trace)
      .capacity.slice(startTick, startTick + window.ticks)
      .map((count) => count >= window.nodes),
  );

/** To the microsecond: 0.07 h are 252 s, and not 252.00000000000003. */
const secondsOf = (hours: number): number => Math.round(hours * 3.6e9) / 1e6;

export const settingOf = (folder: string, window: Window): Setting => ({
  tickSeconds: readTrace(folder, window.zones[0]?.trace ?? '').tickSeconds,
  workSeconds: secondsOf(window.workHours),
  deadlineSeconds: secondsOf(window.deadlineHours),
  restartSeconds: secondsOf(window.restartHours),
  spotUsd: window.zones.map(({ spotPrice }) => spotPrice),
  onDemandUsd: window.onDemandPrice,
});
