/** Finds windows too large for a replay before any replay begins: a run with them would take all memory, or hours. */
import { termsOf } from '../../functions/core/placement/policy/controller.ts';
import { LATTICE_OPTIONS } from '../../functions/core/placement/policy/lattice.ts';
import { tableBytes } from '../../functions/core/placement/policy/value-function.ts';
import type { Setting } from '../../test/support/market/job.ts';
import { sizeOfOptimum } from './optimum.ts';
import { together } from './short-ticks.ts';

/** Of the plan of a thread, which shares one among its windows, and of the optimum of one window. */
const MOST_BYTES = 4e9;
/** Of the optimum: about two minutes. */
const MOST_STEPS = 5e10;

/** As the controller plans. */
const PLAN_OPTIONS = { cellsPerTick: 4 };
const GROUPS = { up: LATTICE_OPTIONS.groupsPerSide, down: LATTICE_OPTIONS.groupsPerSide };

/** Of one plan for all those settings, whose terms are the same. */
export const planBytes = (settings: readonly Setting[]): number => {
  const [first, ...others] = settings.map((each) => together(each).setting);
  return first === undefined ? 0 : tableBytes(GROUPS, termsOf(first), [first, ...others], PLAN_OPTIONS);
};

export const fitsOnePlan = (settings: readonly Setting[]): boolean => planBytes(settings) <= MOST_BYTES;

function excessOf(setting: Setting, isPlanned: boolean): string | undefined {
  const plan = isPlanned ? planBytes([setting]) : 0;
  if (plan > MOST_BYTES)
    return `the plan would take ${gigabytes(plan)}, and ${gigabytes(MOST_BYTES)} is the limit`;
  const { steps, bytes } = sizeOfOptimum(setting);
  if (bytes > MOST_BYTES)
    return `the optimum would take ${gigabytes(bytes)}, and ${gigabytes(MOST_BYTES)} is the limit`;
  return steps > MOST_STEPS
    ? `the optimum would take ${steps.toExponential(0)} steps, and ${MOST_STEPS.toExponential(0)} is the limit`
    : undefined;
}

export interface TooLarge {
  /** Which of the window's measures. */
  readonly field: 'workHours' | 'deadlineHours' | 'restartHours';
  /** How the sentence goes on that tells what was given. */
  readonly problem: string;
}

/** @param isPlanned whether our own policy is among those replayed */
export function tooLarge(setting: Setting, isPlanned: boolean): TooLarge | undefined {
  const excess = excessOf(setting, isPlanned);
  if (excess === undefined) return undefined;
  const { field, most } = culprit(setting, (each) => excessOf(each, isPlanned) === undefined);
  const remedy = most === undefined ? 'give less' : `give at most ${most}`;
  return {
    field,
    problem: `with ticks of ${setting.tickSeconds} s ${excess}: ${remedy}, or traces with longer ticks`,
  };
}

type IsFine = (setting: Setting) => boolean;

/** A deadline that still leaves time for the work, if one would do; else what makes even the tightest too large. */
function culprit(
  setting: Setting,
  isFine: IsFine,
): { readonly field: TooLarge['field']; readonly most?: number | undefined } {
  const { workSeconds, restartSeconds, deadlineSeconds } = setting;
  const nearer = (seconds: number): boolean => isFine({ ...setting, deadlineSeconds: seconds });
  const deadlineHours = mostHours(deadlineSeconds, nearer);
  if (deadlineHours * 3_600 >= workSeconds + restartSeconds)
    return { field: 'deadlineHours', most: deadlineHours };
  const quicker = (seconds: number): boolean => isFine({ ...setting, restartSeconds: seconds });
  const restartHours = mostHours(restartSeconds, quicker);
  if (restartHours > 0) return { field: 'restartHours', most: restartHours };
  return { field: restartSeconds > workSeconds ? 'restartHours' : 'workHours' };
}

/** The largest below those that will do, in tenths of an hour; 0 where none will. */
function mostHours(seconds: number, willDo: (seconds: number) => boolean): number {
  let [most, tooMany] = [0, Math.min(Number.MAX_SAFE_INTEGER, Math.ceil(seconds / 360))];
  while (tooMany - most > 1) {
    const middle = Math.floor((most + tooMany) / 2);
    if (willDo(middle * 360)) most = middle;
    else tooMany = middle;
  }
  return most / 10;
}

const gigabytes = (bytes: number): string =>
  Number.isFinite(bytes) ? `${(bytes / 1e9).toFixed(bytes < 1e10 ? 1 : 0)} GB` : 'more memory than there is';
