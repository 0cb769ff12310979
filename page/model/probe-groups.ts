/** Probes as they may be compared: those that trained on the same version of the data, named by what differs. */
import * as doctor from '@tidewheel/doctor/probe.ts';
import { differingInRuns } from '@tidewheel/kit/differences.ts';
import type { Operations } from '../../client/operations.ts';

export type Probe = Operations['listProbes']['answer']['probes'][number];

export interface NamedProbe {
  readonly probe: Probe;
  /** Such as `num_workers=2`. */
  readonly settings: string;
  /** Of a million samples or a thousand steps; absent where it was not measured. */
  readonly usd?: number;
}

export interface ProbeGroup {
  /** The generation that ends the version of the data. */
  readonly pin: string;
  readonly probes: readonly NamedProbe[];
  readonly unit: doctor.ProbeVerdict['unit'];
  /** Absent with fewer than two that were measured. */
  readonly verdict: doctor.ProbeVerdict | undefined;
}

/** @param probes newest first @returns groups, newest first */
export const probeGroups = (probes: readonly Probe[]): readonly ProbeGroup[] =>
  [
    ...Map.groupBy(
      probes.filter(({ evaluates }) => evaluates === undefined),
      ({ declaration }) => declaration?.dataset?.pin ?? '',
    ),
  ].map(([pin, group]) => groupOf(pin, group));

const UNITS = { samples: 1e6, steps: 1e3 } as const;
const HOUR_SECONDS = 3_600;

function groupOf(pin: string, group: readonly Probe[]): ProbeGroup {
  const varied = differingInRuns(group);
  const named = group.map((probe, place) => {
    const settings = settingsOf(varied, place);
    return { probe, settings, cell: cellOf(probe, settings) };
  });
  const verdict = doctor.probeVerdict(named.flatMap(({ cell }) => cell ?? []));
  const unit = verdict?.unit ?? 'steps';
  const usdOf = (cell: doctor.ProbedCell): number =>
    (doctor.unitSeconds(cell, unit).mean * UNITS[unit] * cell.usdPerHour) / HOUR_SECONDS;
  const probes = named.map(({ cell, ...each }) => ({ ...each, ...(cell && { usd: usdOf(cell) }) }));
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

/** @param worse what the next one is more of */
export function rankedText({ best, alike, ahead }: doctor.Ranked, worse: 'dearer' | 'slower'): string {
  const equal = alike.length === 0 ? '' : `, which these steps do not tell from ${alike.join(', ')}`;
  const next = ahead === undefined ? '' : `; the next one is ${Math.round(100 * ahead)} % ${worse}`;
  return `${best}${equal}${next}`;
}

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
