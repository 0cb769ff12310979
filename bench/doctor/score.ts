/** How often the doctor is right over seeds. */

import { diagnose } from '@tidewheel/doctor/diagnose.ts';
import type { Cause, Verdict } from '@tidewheel/doctor/verdict.ts';
import { caseOf } from './generate.ts';
import { playWith } from './remedy.ts';
import { play } from './simulate.ts';

export interface Scored {
  readonly seed: number;
  readonly truth: Cause;
  readonly said: Cause | undefined;
  /** Of the first verdict: seconds saved, or dollars where the remedy is a cheaper type. undefined: no remedy. */
  readonly gain:
    | { readonly predicted: number; readonly measured: number; readonly unit: 's' | 'USD' }
    | undefined;
}

export function score(seed: number): Scored {
  const { cause, workload } = caseOf(seed);
  const before = play(workload);
  const [top] = diagnose(before.evidence);
  return { seed, truth: cause, said: top?.cause, gain: gainOf(top, before, workload) };
}

function gainOf(
  top: Verdict | undefined,
  before: ReturnType<typeof play>,
  workload: Parameters<typeof play>[0],
): Scored['gain'] {
  if (top?.remedy === undefined) return undefined;
  const after = playWith(workload, top.remedy.change);
  if (top.cause === 'accelerator-too-large')
    return { predicted: top.gain.dollars.expected, measured: before.dollars - after.dollars, unit: 'USD' };
  return { predicted: top.gain.seconds.expected, measured: before.seconds - after.seconds, unit: 's' };
}

export interface Shares {
  readonly topRight: number;
  readonly falseAlarms: number;
  readonly gainWithin20: number;
}

const share = (part: number, whole: number): number => (whole === 0 ? 0 : part / whole);
export const isWithin20 = ({ gain }: Scored): boolean =>
  gain !== undefined && Math.abs(gain.measured - gain.predicted) <= 0.2 * Math.abs(gain.measured);

export function sharesOf(scored: readonly Scored[]): Shares {
  const healthy = scored.filter(({ truth }) => truth === 'nothing-wrong');
  const withRemedy = scored.filter(({ gain }) => gain !== undefined);
  return {
    topRight: share(scored.filter(({ truth, said }) => truth === said).length, scored.length),
    falseAlarms: share(healthy.filter(({ said }) => said !== 'nothing-wrong').length, healthy.length),
    gainWithin20: share(withRemedy.filter(isWithin20).length, withRemedy.length),
  };
}
