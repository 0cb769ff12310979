/**
 * The rules of the simulated market, tick by tick: what runs is billed by whole ticks, a start pays a debt of time
 * before it brings progress, an interruption loses nothing but a new start. Times in seconds, money in USD for the gang.
 */
import { type Action, IDLE, ON_DEMAND, SPOT } from '../../functions/core/placement/policy/actions.ts';

export interface Setting {
  readonly tickSeconds: number;
  readonly workSeconds: number;
  readonly deadlineSeconds: number;
  readonly restartSeconds: number;
  /** Per hour, by zone. */
  readonly spotUsd: readonly number[];
  readonly onDemandUsd: number;
}

/** What a strategy sees at the start of a tick. */
export interface View {
  readonly tick: number;
  readonly nowSeconds: number;
  /** What ran in the last tick, even if its capacity is gone now. */
  readonly last: Action;
  /** What runs still: IDLE after an interruption. */
  readonly runs: Action;
  readonly zone: number;
  readonly workDone: number;
  readonly workLeft: number;
  /** Seconds of start-up that what runs has still to pay. */
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
  /** Told which settings will begin, in any number, it may prepare for them together; what it decides stays the same. */
  expect?(settings: readonly Setting[]): void;
  /** A fresh run; the function returned is asked once a tick and may remember. */
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

const WORK_TOLERANCE = 1e-8;
const DEBT_TOLERANCE = 1e-3;
/** A strategy that never ends its job is stopped at this many times the deadline. */
const PATIENCE = 20;

/** What a run has come to. */
interface State {
  zone: number;
  last: Action;
  debt: number;
  workDone: number;
  costUsd: number;
  starts: number;
  finishSeconds: number;
}

/** zones[z][t]: whether the whole gang could be had in zone z during all of tick t; nothing after the end. */
export function simulate(
  strategy: Strategy,
  setting: Setting,
  zones: readonly (readonly boolean[])[],
): Outcome {
  const step = strategy.begin(setting);
  const actions: Action[] = [];
  const visited: number[] = [];
  const state: State = {
    zone: 0,
    last: IDLE,
    debt: 0,
    workDone: 0,
    costUsd: 0,
    starts: 0,
    finishSeconds: Number.POSITIVE_INFINITY,
  };
  const limit = (PATIENCE * setting.deadlineSeconds) / setting.tickSeconds;
  for (let tick = 0; tick < limit && setting.workSeconds - state.workDone > WORK_TOLERANCE; tick += 1) {
    const view = viewOf(state, setting, zones, tick);
    state.last = live(state, setting, view, step(view));
    actions.push(state.last);
    visited.push(state.zone);
  }
  const { costUsd, finishSeconds, starts } = state;
  const late = finishSeconds > setting.deadlineSeconds + 1e-6;
  return { costUsd, finishSeconds, starts, late, actions, zones: visited };
}

function viewOf(state: State, setting: Setting, zones: readonly (readonly boolean[])[], tick: number): View {
  const available = zones.map((trace) => trace[tick] ?? false);
  return {
    tick,
    nowSeconds: tick * setting.tickSeconds,
    last: state.last,
    runs: state.last === SPOT && !available[state.zone] ? IDLE : state.last,
    zone: state.zone,
    workDone: state.workDone,
    workLeft: setting.workSeconds - state.workDone,
    debt: state.debt,
    available,
  };
}

/** Lives through one tick and says what ran in it. */
function live(state: State, setting: Setting, view: View, asked: Decision): Action {
  const action = asked.action === SPOT && !view.available[asked.zone] ? IDLE : asked.action;
  const moved = view.runs !== IDLE && action === view.runs && asked.zone !== state.zone;
  if (action !== IDLE && (action !== view.runs || moved)) {
    state.debt = setting.restartSeconds;
    state.starts += 1;
  }
  state.zone = asked.zone;
  if (action !== IDLE) work(state, setting, view, action);
  return action;
}

function work(state: State, setting: Setting, view: View, action: Action): void {
  const { tickSeconds } = setting;
  const gain = Math.max(tickSeconds - state.debt, 0);
  if (state.finishSeconds === Number.POSITIVE_INFINITY && gain >= view.workLeft - WORK_TOLERANCE) {
    state.finishSeconds = view.nowSeconds + (tickSeconds - gain) + view.workLeft;
  }
  state.debt -= tickSeconds - gain;
  if (state.debt < DEBT_TOLERANCE) state.debt = 0;
  state.workDone += Math.min(gain, view.workLeft);
  const hourly =
    action === ON_DEMAND ? setting.onDemandUsd : (setting.spotUsd[state.zone] ?? setting.onDemandUsd);
  state.costUsd += (hourly * tickSeconds) / 3_600;
}
