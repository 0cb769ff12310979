/** The ten lines about a trial. Pure. */
import type { Cost } from './cost.ts';
import type { Note, Phase } from './phase.ts';
import { hasFailed, type Restored, type TryFinding } from './try-verdict.ts';

export function reportOf(
  program: string,
  phases: readonly Phase[],
  { verdict, restored, remedy }: TryFinding,
  cost: Cost,
): readonly string[] {
  const [first, second, third] = phases;
  if (first === undefined) return [];
  return [
    line('started', started(program, first)),
    line('recognised', recognised(first)),
    ...(first.endedBy === 'warning' ? [line('warned', warned(first))] : []),
    ...(second === undefined ? [] : [line('resumed', resumed(second, restored[0]))]),
    ...(second?.endedBy === 'kill' ? [line('killed', killed(second))] : []),
    ...(third === undefined ? [] : [line('resumed', resumed(third, restored[1]))]),
    ...(first.endedBy === 'warning' ? [line('lost', lost(phases, restored))] : []),
    ...failures(phases).map((text) => line('failed', text)),
    line('would cost', costs(cost)),
    line('change', remedy === '' ? 'nothing' : remedy),
    line('verdict', verdict === 'saves nothing' ? savedNothing(first) : verdict),
  ];
}

/** It may save at the end of an epoch that takes longer. */
const savedNothing = (phase: Phase): string =>
  `saves nothing in ${seconds(phase.seconds)}; for a script that saves later, give --seconds`;

const line = (title: string, text: string): string => `  ${title.padEnd(11)}${text}`;
const seconds = (value: number | undefined): string => `${(value ?? 0).toFixed(1)} s`;
const stepOf = ({ step, totalSteps, unit }: Note): string =>
  `${unit === 'saves' ? 'save' : (unit ?? 'step')} ${step}${totalSteps > 0 ? ` of ${totalSteps}` : ''}`;

function started(program: string, phase: Phase): string {
  const end = phase.endedBy === 'itself' ? `, then ended by itself with ${phase.exitCode ?? 'a signal'}` : '';
  if (!phase.hasStarted) return `${program} did not start yet${end}`;
  const steps = phase.printed
    ? `, printed ${phase.printed.word} ${phase.printed.first} to ${phase.printed.last}`
    : '';
  return `${program} ran for ${seconds(phase.seconds)} (${seconds(phase.cpuSeconds)} of CPU)${steps}${end}`;
}

function recognised({ after, firstSaveSeconds, checkpointFiles }: Phase): string {
  if (after !== undefined) {
    const when = firstSaveSeconds === undefined ? '' : `, first after ${seconds(firstSaveSeconds)}`;
    return `checkpoint ${after.checkpoint}, ${stepOf(after)}${when}`;
  }
  return checkpointFiles.length === 0
    ? 'no file in the checkpoint folder'
    : `no checkpoint among ${checkpointFiles.slice(0, 3).join(', ')}`;
}

function warned({ atStrike, after, exitCode, leftAfterSeconds }: Phase): string {
  const isNew = after !== undefined && after.updatedAt !== atStrike?.updatedAt;
  const saved = isNew ? `saved ${stepOf(after)}` : 'saved nothing new';
  const left = exitCode === undefined ? 'was killed at the end of its grace' : `left with ${exitCode}`;
  return `${saved}, ${left} after ${seconds(leftAfterSeconds)}`;
}

function resumed(phase: Phase, restored: Restored | undefined): string {
  const from = phase.before === undefined ? '' : ` ${stepOf(phase.before)}`;
  if (hasFailed(phase))
    return `from${from}: ended by itself with ${phase.exitCode ?? 'a signal'} after ${seconds(phase.seconds)}`;
  const first = phase.printed ? `${phase.printed.word} ${phase.printed.first}` : undefined;
  if (restored === 'yes')
    return `continued from${from}${first === undefined ? '' : ` (first printed ${first})`}`;
  const begun = phase.beganAgainAt ?? first;
  if (restored === 'no')
    return `began again${begun === undefined ? '' : ` at ${begun}`} although${from} was there`;
  return `from${from}: neither its output nor a new checkpoint shows where it began`;
}

const killed = ({ atStrike, sinceSaveSeconds }: Phase): string =>
  atStrike === undefined
    ? 'without any checkpoint'
    : `${seconds(sinceSaveSeconds)} after ${stepOf(atStrike)} was saved`;

function lost(phases: readonly Phase[], restored: readonly Restored[]): string {
  const [first, second] = phases;
  if (first?.after === undefined) return 'everything, at each interruption';
  if (restored.includes('no')) return 'everything, at each interruption: nothing was restored';
  const isNew = first.after.updatedAt !== first.atStrike?.updatedAt;
  const warning = isNew
    ? 'what followed its last save'
    : `${seconds((first.sinceSaveSeconds ?? 0) + (first.leftAfterSeconds ?? 0))} of work`;
  return second?.endedBy === 'kill'
    ? `at the warning ${warning}; at the kill ${seconds(second.sinceSaveSeconds)} of work`
    : `at the warning ${warning}`;
}

const failures = (phases: readonly Phase[]): readonly string[] =>
  phases
    .filter(hasFailed)
    .map(({ name, failure, exitCode }) => `${name}: ${causeOf(failure) || `exit code ${exitCode}`}`);

/** Without a traceback the last lines that were printed say it. */
function causeOf(failure: string): string {
  const [summary = '', ...rest] = failure.trim().split('\n');
  const last = rest.at(-1)?.trim();
  return last === undefined || summary.includes(last) ? summary : `${summary}: ${last}`;
}

function costs({ instanceType, region, spotUsd, onDemandUsd, pricesOf, hoursHere }: Cost): string {
  if (onDemandUsd === undefined) return `unknown: the catalog has no price of ${instanceType} in ${region}`;
  const spot = spotUsd === undefined ? 'no Spot price known' : `Spot from $${spotUsd.toFixed(3)}`;
  const price = `${spot}, On-Demand $${onDemandUsd.toFixed(3)} an hour of ${instanceType} on EC2 (${region}, ${pricesOf})`;
  const total =
    hoursHere === undefined
      ? 'how long it trains is unknown'
      : `about ${hoursHere.toFixed(2)} h at the pace of this machine, another pace there`;
  return `${price}; ${total}`;
}
