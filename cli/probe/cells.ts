/** Runs the cells of a probe, one after the other, so that they do not take capacity or CPUs from each other. */
import { setTimeout as sleep } from 'node:timers/promises';
import { usdText } from '../../client/amounts.ts';
import type { AnswerOf } from '../../client/operations.ts';
import { isFinished } from '../../client/run-view.ts';
import { type Api, ApiError } from '../command/api-calls.ts';
import type { Terminal } from '../command/terminal.ts';
import { changeOf, type PlannedCell, type ProbeLimits } from './estimate.ts';

type Probe = AnswerOf<'listProbes'>['probes'][number];

export interface EndedCell {
  readonly cell: PlannedCell;
  readonly probe: Probe;
}

export interface ProbeJob {
  readonly api: Api;
  readonly terminal: Terminal;
  readonly pipeline: string;
  readonly cells: readonly PlannedCell[];
  readonly limits: ProbeLimits;
  /** Of all cells together. */
  readonly budgetUsd: number | undefined;
  /** Aborted when the person leaves. */
  readonly signal: AbortSignal;
}

export interface Ended {
  readonly cells: readonly EndedCell[];
  /** Cells that were not started, and why. */
  readonly leftOut: readonly { readonly name: string; readonly why: string }[];
}

const POLL_MILLISECONDS = 1_000;
/** SageMaker leaves two minutes for a save. */
const STOP_MILLISECONDS = 180_000;

export async function runCells(job: ProbeJob): Promise<Ended> {
  const ended: EndedCell[] = [];
  const leftOut: { name: string; why: string }[] = [];
  let pin: string | undefined;
  for (const [index, cell] of job.cells.entries()) {
    const left = leftOf(job.budgetUsd, ended);
    const why = job.signal.aborted ? 'ended by Ctrl-C' : whyNot(cell, left);
    if (why !== undefined) {
      leftOut.push({ name: cell.name, why });
      continue;
    }
    const started = await start(job, cell, { pin, budgetUsd: left });
    pin = started.pin ?? pin;
    job.terminal.note(`${index + 1} of ${job.cells.length}  ${cell.name}  ${started.runId}`);
    await untilEnded(job, started.runId);
    const probe = await probeOf(job, started.runId);
    if (probe !== undefined) ended.push({ cell, probe });
    job.terminal.note(
      `  ${probe?.status ?? 'unknown'}${probe?.failure === undefined ? '' : `: ${probe.failure}`}`,
    );
  }
  return { cells: ended, leftOut };
}

const leftOf = (budgetUsd: number | undefined, ended: readonly EndedCell[]): number | undefined =>
  budgetUsd === undefined ? undefined : budgetUsd - ended.reduce((sum, { probe }) => sum + probe.costUsd, 0);

const whyNot = (
  { place, usdPerHour, mostUsd }: PlannedCell,
  left: number | undefined,
): string | undefined => {
  if (usdPerHour === 0) return `no place: ${place}`;
  return left !== undefined && mostUsd > left
    ? `it may cost USD ${usdText(mostUsd)}, and USD ${usdText(Math.max(0, left))} of the budget are left`
    : undefined;
};

interface Start {
  readonly pin: string | undefined;
  readonly budgetUsd: number | undefined;
}

/** Another person's probe may take a number first. */
const MOST_NUMBERS = 10;

async function start({ api, pipeline, limits }: ProbeJob, cell: PlannedCell, { pin, budgetUsd }: Start) {
  const part = changeOf(cell, limits);
  const change = {
    ...part,
    limits: { ...part.limits, ...(budgetUsd !== undefined && { budgetUsd }) },
    ...(pin !== undefined && { dataset: { pin } }),
  };
  let number = await nextNumber(api, pipeline);
  for (let tries = 1; ; tries += 1) {
    try {
      return await api.call('startProbe', { name: pipeline, body: { number, steps: limits.steps, change } });
    } catch (error: unknown) {
      if (!(error instanceof ApiError && error.status === 409) || tries === MOST_NUMBERS) throw error;
      const next = await nextNumber(api, pipeline);
      if (next === number) throw error;
      number = next;
    }
  }
}

async function nextNumber(api: Api, pipeline: string): Promise<number> {
  const [newest] = (await api.call('listProbes', { name: pipeline, limit: 1 })).probes;
  return (newest?.number ?? 0) + 1;
}

/** After Ctrl-C it asks the run to stop, and waits for that. */
async function untilEnded({ api, terminal, signal }: ProbeJob, runId: string): Promise<void> {
  let stopBy: number | undefined;
  for (;;) {
    const { run } = await api.call('getRun', { runId });
    if (isFinished(run)) return;
    if (signal.aborted && stopBy === undefined) {
      await api.call('stopRun', { runId, body: { mode: 'now' } });
      stopBy = Date.now() + STOP_MILLISECONDS;
      terminal.note(`${runId} is being stopped; Ctrl-C again leaves at once`);
    }
    if (stopBy !== undefined && Date.now() > stopBy) {
      terminal.problem(`${runId} has not ended yet, and costs until it does: tidewheel watch ${runId}`);
      return;
    }
    await sleep(POLL_MILLISECONDS, undefined, stopBy === undefined ? { signal } : {}).catch(() => undefined);
  }
}

async function probeOf({ api, pipeline }: ProbeJob, runId: string): Promise<Probe | undefined> {
  const { probes } = await api.call('listProbes', { name: pipeline, limit: 20 });
  return probes.find((probe) => probe.runId === runId);
}
