/** Where campaigns come from: traces drawn from the fitted chain by a seed, or traces in the published format. */
import { readdirSync } from 'node:fs';
import { basename } from 'node:path';
import { drawTraces, TICK_SECONDS } from '../../test/support/market/traces.ts';
import { readTrace } from '../sim/traces.ts';
import type { CampaignCase } from './campaign-case.ts';

export interface Job {
  readonly workHours: number;
  readonly deadlineHours: number;
  readonly startSeconds: number;
}

const caseOf = (
  name: string,
  { workHours, deadlineHours, startSeconds }: Job,
  trace: Pick<CampaignCase, 'traces' | 'tickSeconds'>,
): CampaignCase => ({ name, workSeconds: workHours * 3_600, deadlineHours, startSeconds, ...trace });

const ticksOf = ({ deadlineHours }: Job, tickSeconds: number): number =>
  Math.ceil((deadlineHours * 3_600) / tickSeconds) + 1;

export function drawnCase(seed: number, job: Job, zones = 1): CampaignCase {
  const traces = drawTraces(seed, zones, ticksOf(job, TICK_SECONDS));
  return caseOf(`seed-${seed}`, job, { traces, tickSeconds: TICK_SECONDS });
}

/** One for every trace of the folder, from that hour of it on; those that are too short are left out. */
export function tracedCases(folder: string, fromHour: number, job: Job): readonly CampaignCase[] {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .flatMap((file) => {
      const { capacity, tickSeconds } = readTrace(folder, file);
      const from = Math.round((fromHour * 3_600) / tickSeconds);
      const ticks = ticksOf(job, tickSeconds);
      if (from + ticks > capacity.length) return [];
      const available = capacity.slice(from, from + ticks).map((count) => count >= 1);
      return [caseOf(pipelineNameOf(file), job, { traces: [available], tickSeconds })];
    });
}

/** Lower case letters, digits and dashes, as a pipeline may be called. */
const pipelineNameOf = (file: string): string =>
  basename(file, '.json')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 24)
    .replace(/-$/, '');
