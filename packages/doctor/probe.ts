/**
 * Which of several settings trained fastest and cheapest.
 *
 * In: blocks of steps. Out: a ranking with intervals. Called by `tidewheel probe`, the page and the attempts.
 */
export {
  type ProbedCell,
  type ProbeVerdict,
  probeVerdict,
  rankedText,
  UNIT_PRICES,
  unitCostUsd,
} from './probe/probe-verdict.ts';
export { type MeasuredMean, type StepSpeed, stepSpeedOf } from './probe/step-blocks.ts';
