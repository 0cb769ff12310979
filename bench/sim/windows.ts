/** Windows: stretches of traces with a job to be done in them. */
import { readFileSync } from 'node:fs';
import * as z from 'zod';
import { readTrace, TraceError } from './traces.ts';
import type { Setting } from './world.ts';

const zoneSchema = z.object({
  /** Relative to the folder of traces. */
  trace: z.string().min(1),
  startTick: z.number().int().min(0),
  /** Per hour, for the whole gang. */
  spotPrice: z.number().positive(),
});

export const windowSchema = z.object({
  id: z.union([z.string(), z.number()]),
  zones: z.array(zoneSchema).min(1),
  ticks: z.number().int().min(1),
  onDemandPrice: z.number().positive(),
  /** The gang: a tick has capacity when so many instances are to be had. */
  nodes: z.number().int().min(1).default(1),
  workHours: z.number().positive(),
  deadlineHours: z.number().positive(),
  restartHours: z.number().min(0),
});

export type Window = z.infer<typeof windowSchema>;

export interface Case {
  readonly window: Window;
  readonly setting: Setting;
  readonly zones: readonly (readonly boolean[])[];
}

export function readWindows(file: string): Window[] {
  return z.array(windowSchema).parse(JSON.parse(readFileSync(file, 'utf8')));
}

export function openWindow(folder: string, window: Window): Case {
  const zones = window.zones.map(({ trace, startTick }) =>
    readTrace(folder, trace)
      .capacity.slice(startTick, startTick + window.ticks)
      .map((count) => count >= window.nodes),
  );
  return { window, zones, setting: settingOf(folder, window) };
}

export function settingOf(folder: string, window: Window): Setting {
  const traces = window.zones.map(({ trace }) => readTrace(folder, trace));
  const tickSeconds = traces[0]?.tickSeconds ?? 0;
  if (traces.some((trace) => trace.tickSeconds !== tickSeconds)) {
    throw new TraceError(`window ${window.id}: all its traces need the same gap_seconds`);
  }
  const seconds = (hours: number): number => Math.round(hours * 3_600);
  return {
    tickSeconds,
    workSeconds: seconds(window.workHours),
    deadlineSeconds: seconds(window.deadlineHours),
    restartSeconds: seconds(window.restartHours),
    spotUsd: window.zones.map(({ spotPrice }) => spotPrice),
    onDemandUsd: window.onDemandPrice,
  };
}
