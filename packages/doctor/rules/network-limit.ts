/** The network limits the steps: all the time, or since its burst has ended. */
import { type BatchCost, waitFacts } from './batch-cost.ts';
import { type Evidence, withSameAccelerators } from './evidence.ts';
import { byCpu, fileStepSeconds } from './file-mode.ts';
import { fileSystemOptions } from './file-system.ts';
import type { DoctorFinding } from './gain.ts';
import { GIGABIT_BYTES, type HostMeasures, type Measures } from './measures.ts';

/** A link at this share of its rate is the limit. */
const FULL = 0.85;
/** Faster than the baseline by more than jitter, and steps slower by more than it. */
const BURST = 1.1;
const SLOWER = 1.15;

export function networkFinding(
  evidence: Evidence,
  measures: Measures,
  cost: BatchCost,
): DoctorFinding | undefined {
  const { pace, networkBytesPerSecond } = measures;
  if (isBurstOver(pace, networkBytesPerSecond)) return burstFinding(evidence, measures, cost);
  if (pace.receivedBytesPerSecond < FULL * networkBytesPerSecond) return undefined;
  return {
    cause: 'network',
    evidence: {
      ...waitFacts(pace),
      receivedBytesPerSecond: pace.receivedBytesPerSecond,
      baselineBytesPerSecond: networkBytesPerSecond,
    },
    ...cheapestRemedy(evidence, measures, cost),
    modelError: 0.2,
    unknown: ['whether the host disk keeps up', 'whether the network was faster while its burst lasted'],
    others: fileSystemOptions(evidence, measures),
    next: byCpu(pace, cost) > cost.rest ? 'loader workers' : 'the accelerator',
  };
}

const isBurstOver = ({ early, late }: HostMeasures, baseline: number): boolean =>
  early.receivedBytesPerSecond > BURST * baseline &&
  late.receivedBytesPerSecond > FULL * baseline &&
  late.receivedBytesPerSecond < BURST * baseline &&
  late.stepSeconds > SLOWER * early.stepSeconds;

function burstFinding(evidence: Evidence, measures: Measures, cost: BatchCost): DoctorFinding {
  const { pace } = measures;
  const { steps } = evidence;
  const measured = Math.min(steps, pace.steps);
  return {
    cause: 'network-burst',
    evidence: {
      ...waitFacts(pace),
      earlyBytesPerSecond: pace.early.receivedBytesPerSecond,
      lateBytesPerSecond: pace.late.receivedBytesPerSecond,
      earlyStepSeconds: pace.early.stepSeconds,
      lateStepSeconds: pace.late.stepSeconds,
    },
    ...cheapestRemedy(evidence, measures, cost),
    // From now on, steps take as long as the last ones did.
    stepSecondsNow:
      (measured * pace.stepSeconds + (steps - measured) * pace.late.stepSeconds) / Math.max(1, steps),
    modelError: 0.25,
    unknown: ['when the network has credits for another burst', 'whether the host disk keeps up'],
    others: fileSystemOptions(evidence, measures),
    next: 'the accelerator',
  };
}

type NetworkRemedy = Required<
  Pick<DoctorFinding, 'change' | 'stepSeconds' | 'startSeconds' | 'usdPerSecond'>
>;

/** File mode, which needs the network once, or a type whose network is fast enough all the time. */
function cheapestRemedy(evidence: Evidence, measures: Measures, cost: BatchCost): NetworkRemedy {
  const { pace, networkBytesPerSecond } = measures;
  const { steps, instance, data } = evidence;
  const cpuLimit = byCpu(pace, cost);
  const file: NetworkRemedy = {
    change: { kind: 'input-mode', inputMode: 'File' },
    stepSeconds: fileStepSeconds(evidence, measures, cost),
    startSeconds: -data.bytes / networkBytesPerSecond,
    usdPerSecond: instance.usdPerSecond,
  };
  const faster = withSameAccelerators(evidence).map(
    ({ facts, usdPerSecond }): NetworkRemedy => ({
      change: { kind: 'instance-type', type: facts.type },
      stepSeconds: Math.max(cost.rest, cpuLimit, cost.bytes / (facts.networkBaselineGbps * GIGABIT_BYTES)),
      startSeconds: 0,
      usdPerSecond,
    }),
  );
  const usd = (each: NetworkRemedy): number =>
    (each.stepSeconds * steps - each.startSeconds) * each.usdPerSecond;
  const shorter = faster.filter(({ stepSeconds }) => stepSeconds < pace.stepSeconds);
  const isShorter = (pace.stepSeconds - file.stepSeconds) * steps + file.startSeconds > 0;
  const [first, ...others] = isShorter ? [file, ...shorter] : shorter;
  return others.reduce((best, each) => (usd(each) < usd(best) ? each : best), first ?? file);
}
