/** Runs a policy in the simulated market tick by tick. The policy sees the capacity of every zone. */
import { type Action, IDLE, SPOT } from '../../packages/placement/policy/plan-pass.ts';
import { isDone, newJob, runTick, type Setting, start } from '../../test/support/market/job.ts';
import type { Trace } from '../../test/support/market/traces.ts';

/** What a strategy sees at the start of a tick. */
export interface View {
  readonly tick: number;
  readonly nowSeconds: number;
  /** What still runs: IDLE after an interruption. */
  readonly runs: Action;
  readonly zone: number;
  readonly workDone: number;
  readonly workLeft: number;
  /** Seconds of start-up that what runs still owes. */
  readonly debt: number;
  /** Capacity of each zone during the tick that begins. */
  readonly available: readonly boolean[];
}

export interface Decision {
  readonly action: Action;
  readonly zone: number;
}

export interface Strategy {
  readonly name: string;
  /** A fresh run. The function returned is called once a tick and may remember. */
  begin(setting: Setting): (view: View) => Decision;
}

export interface Outcome {
  readonly costUsd: number;
  readonly finishSeconds: number;
  readonly starts: number;
  readonly late: boolean;
  /** One entry a tick. */
  readonly actions: readonly Action[];
  readonly zones: readonly number[];
}

/** A strategy that never ends its job is stopped at this many times the deadline. */
const PATIENCE = 20;

export function simulate(strategy: Strategy, setting: Setting, zones: readonly Trace[]): Outcome {
  const step = strategy.begin(setting);
  const actions: Action[] = [];
  const visited: number[] = [];
  const job = newJob();
  const limit = (PATIENCE * setting.deadlineSeconds) / setting.tickSeconds;
  let [last, zone]: [Action, number] = [IDLE, 0];
  for (let tick = 0; tick < limit && !isDone(job, setting); tick += 1) {
    const available = zones.map((trace) => trace[tick] ?? false);
    const nowSeconds = tick * setting.tickSeconds;
    const runs: Action = last === SPOT && !available[zone] ? IDLE : last;
    const { workDone, debt } = job;
    const workLeft = setting.workSeconds - workDone;
    const wanted = step({ tick, nowSeconds, runs, zone, workDone, workLeft, debt, available });
    const action = wanted.action === SPOT && !available[wanted.zone] ? IDLE : wanted.action;
    const hasMoved = wanted.zone !== zone;
    zone = wanted.zone;
    if (action !== IDLE) {
      if (action !== runs || hasMoved) start(job, setting);
      runTick(job, setting, { nowSeconds, spotZone: action === SPOT ? zone : undefined });
    }
    last = action;
    actions.push(action);
    visited.push(zone);
  }
  const { costUsd, finishSeconds, starts } = job;
  const late = finishSeconds > setting.deadlineSeconds + 1e-6;
  return { costUsd, finishSeconds, starts, late, actions, zones: visited };
}
