/** Probes as they may be compared: those that trained on the same version of the data, named by what differs. */
import * as doctor from '@tidewheel/doctor/probe.ts';
import { differingInRuns } from '@tidewheel/kit/differences.ts';
import type { Operations } from '../../client/operations.ts';

export type Probe = Operations['listProbes']['answer']['probes'][number];

/** `pin` is the generation that ends the version of the data; no verdict with fewer than two that were measured. */
export type ProbeGroup = ReturnType<typeof groupOf>;

/** `settings` such as `num_workers=2`; `usd` of a million samples or a thousand steps, where it was measured. */
export type NamedProbe = ProbeGroup['probes'][number];

/** @param probes newest first @returns groups, newest first */
export const probeGroups = (probes: readonly Probe[]): readonly ProbeGroup[] =>
  [
    ...Map.groupBy(
      probes.filter(({ evaluates }) => evaluates === undefined),
      ({ declaration }) => declaration?.dataset?.pin ?? '',
    ),
  ].map(([pin, group]) => groupOf(pin, group));

function groupOf(pin: string, group: readonly Probe[]) {
  const varied = differingInRuns(group);
  const named = group.map((probe, place) => {
    const settings = settingsOf(varied, place);
    return { probe, settings, cell: cellOf(probe, settings) };
  });
  const verdict = doctor.probeVerdict(named.flatMap(({ cell }) => cell ?? []));
  const unit = verdict?.unit ?? 'steps';
  const probes = named.map(({ cell, ...each }) => ({
    ...each,
    ...(cell && { usd: doctor.unitCostUsd(cell, unit).mean }),
  }));
  return { pin, probes, unit, verdict };
}

const cellOf = ({ speed, usdPerHour }: Probe, name: string): doctor.ProbedCell | undefined =>
  speed === undefined || usdPerHour === undefined ? undefined : { name, speed, usdPerHour };

/** Limits are those of the command, such as what was left of its budget. */
const settingsOf = (varied: ReturnType<typeof differingInRuns>, place: number): string =>
  varied
    .filter(({ field }) => !/^(tuning\.)?limits\./.test(field))
    .map(({ field, values }) => `${field.replace('training.hyperparameters.', '')}=${values[place] ?? ''}`)
    .join(' ') || 'as declared';

/** By whose clock the seconds of a group are. @returns undefined where none was measured */
export function measuredByText({ probes }: ProbeGroup): string | undefined {
  const clocks = new Set(probes.flatMap(({ probe }) => probe.speed?.clock ?? []));
  if (clocks.size > 1) return 'Measured by different clocks, so not to be compared.';
  const [clock] = clocks;
  if (clock === undefined) return undefined;
  return clock === 'host'
    ? 'Seconds are by the clocks of the hosts, which count the CPU time that each got.'
    : 'Seconds are by the clock of the machine.';
}
