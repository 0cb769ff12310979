/** What holds a step back once its batch is there: saves, exchange, one slow host, an accelerator with little to do. */
import { acceleratorSpeed, VCPU_SPEED } from '../catalog/accelerators.ts';
import type { InstanceFacts } from '../catalog/catalog.ts';
import { coresForWorkers } from './batch-cost.ts';
import type { Evidence } from './evidence.ts';
import type { Finding } from './gain.ts';
import { type HostMeasures, type Measures, median } from './measures.ts';

/** Hosts of one type differ by less. */
const SLOW_HOST = 1.1;
/** Of the seconds that the training process computes, the accelerator works in fewer than these. */
const IDLE_ACCELERATOR = 0.5;

export function trainingFindings(evidence: Evidence, measures: Measures): readonly Finding[] {
  return [
    saveFinding(measures),
    slowHostFinding(measures),
    exchangeFinding(measures),
    acceleratorFinding(evidence, measures),
  ].filter((each) => each !== undefined);
}

function saveFinding({ hosts, pace }: Measures): Finding | undefined {
  const saving = Math.max(...hosts.map(({ save }) => save));
  if (saving <= 0) return undefined;
  return {
    cause: 'checkpoint-stall',
    evidence: { saveShare: saving / pace.stepSeconds, saveSecondsPerStep: saving },
    change: { kind: 'save-in-background' },
    stepSeconds: pace.stepSeconds - saving,
    modelError: 0.15,
    unknown: ['how long the copy to host memory takes, and whether host memory holds it'],
  };
}

function slowHostFinding({ hosts, pace }: Measures): Finding | undefined {
  const [slowest, ...others] = hosts.toSorted((a, b) => b.compute - a.compute);
  if (slowest === undefined || others.length === 0) return undefined;
  const usual = median(others.map(({ compute }) => compute));
  if (slowest.compute < SLOW_HOST * usual) return undefined;
  return {
    cause: 'slow-host',
    evidence: { host: slowest.host, computeSeconds: slowest.compute, othersComputeSeconds: usual },
    change: { kind: 'replace-host', host: slowest.host },
    stepSeconds: pace.stepSeconds - (slowest.compute - Math.max(...others.map(({ compute }) => compute))),
    modelError: 0.15,
    unknown: ['why it is slow', 'whether its successor is as fast as the others'],
  };
}

/** The host that comes last waits for no other: what it spends in the exchange is the exchange. */
function exchangeFinding({ hosts, pace, networkBytesPerSecond }: Measures): Finding | undefined {
  const exposed = Math.min(...hosts.map(({ exchange }) => exchange));
  if (hosts.length < 2 || exposed <= 0) return undefined;
  const onWire = (pace.sentBytesPerSecond * pace.stepSeconds) / networkBytesPerSecond;
  const whole = Math.max(exposed, onWire);
  const left = Math.max(0, whole / 2 - (whole - exposed));
  return {
    cause: 'gradient-exchange',
    evidence: {
      exchangeShare: exposed / pace.stepSeconds,
      exposedSeconds: exposed,
      wireSeconds: onWire,
      hosts: hosts.length,
    },
    change: { kind: 'compress-exchange' },
    stepSeconds: pace.stepSeconds - exposed + left,
    modelError: 0.2,
    unknown: [
      'the latency in the exchange, which compression leaves',
      'what 16-bit gradients do to the loss',
    ],
  };
}

const speedOf = ({ accelerator, acceleratorMemoryMib, vcpu }: InstanceFacts): number | undefined =>
  accelerator === undefined ? vcpu * VCPU_SPEED : acceleratorSpeed(accelerator, acceleratorMemoryMib);

function acceleratorFinding({ instance, alternatives }: Evidence, { pace }: Measures): Finding | undefined {
  const busy = busyWhileComputing(pace);
  const speed = speedOf(instance.facts);
  if (busy === undefined || busy >= IDLE_ACCELERATOR || speed === undefined) return undefined;
  const work = (pace.gpuBusy ?? 0) * pace.stepSeconds;
  const stepOn = (facts: InstanceFacts): number => {
    const other = speedOf(facts);
    if (other === undefined) return Number.POSITIVE_INFINITY;
    const byCpu = (pace.workerCores * pace.stepSeconds) / coresForWorkers(facts.vcpu);
    return Math.max(byCpu, pace.stepSeconds - work + (work * speed) / other);
  };
  const [best] = alternatives.toSorted(
    (a, b) => stepOn(a.facts) * a.usdPerSecond - stepOn(b.facts) * b.usdPerSecond,
  );
  if (best === undefined) return undefined;
  return {
    cause: 'accelerator-too-large',
    evidence: { gpuBusy: pace.gpuBusy ?? 0, busyWhileComputing: busy, workSecondsPerStep: work },
    change: { kind: 'instance-type', type: best.facts.type },
    stepSeconds: stepOn(best.facts),
    usdPerSecond: best.usdPerSecond,
    modelError: 0.3,
    unknown: [
      'whether a larger batch would fill this accelerator',
      'the speed of this model on the other one',
    ],
  };
}

const busyWhileComputing = ({ gpuBusy, compute, stepSeconds }: HostMeasures): number | undefined =>
  gpuBusy === undefined || compute <= 0 ? undefined : gpuBusy / (compute / stepSeconds);
