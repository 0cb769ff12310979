/** What the plan of several windows takes, before any replay begins: a thread shares one among its windows. */
import { termsOf } from '../../functions/core/placement/policy/controller.ts';
import { LATTICE_OPTIONS } from '../../functions/core/placement/policy/lattice.ts';
import { tableBytes } from '../../functions/core/placement/policy/value-function.ts';
import type { Setting } from '../../test/support/market/job.ts';
import { together } from './short-ticks.ts';

const MOST_BYTES = 4e9;

/** As the controller plans. */
const PLAN_OPTIONS = { cellsPerTick: 4 };
const GROUPS = { up: LATTICE_OPTIONS.groupsPerSide, down: LATTICE_OPTIONS.groupsPerSide };

/** Of one plan for all those settings, whose terms are the same. */
export const planBytes = (settings: readonly Setting[]): number => {
  const [first, ...others] = settings.map((each) => together(each).setting);
  return first === undefined ? 0 : tableBytes(GROUPS, termsOf(first), [first, ...others], PLAN_OPTIONS);
};

export const fitsOnePlan = (settings: readonly Setting[]): boolean => planBytes(settings) <= MOST_BYTES;
