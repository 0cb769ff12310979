/**
 * The ladder: fill one accelerator; then a larger node; then more nodes; and ask whether CPUs would do. Each rung with the
 * numbers that it stands on.
 */
import { acceleratorSpeed, VCPU_SPEED } from '@tidewheel/catalog/speeds.ts';
import { coresForWorkers } from './batch-cost.ts';
import type { Evidence, PricedType } from './evidence.ts';
import { type Measures, measuresOf } from './measures.ts';

export interface Rung {
  readonly rung: 'fill-one-accelerator' | 'larger-node' | 'more-nodes' | 'cpu';
  /** Whether this is where the training stands, or should stand. */
  readonly verdict: 'reached' | 'not-yet' | 'does-not-pay' | 'pays' | 'unknown';
  readonly evidence: Readonly<Record<string, number>>;
  readonly text: string;
}

/** From this share of the time on, one accelerator is busy: the articles' figure. */
const BUSY = 0.9;

/** Below this share of the computing time, kernels are too small to fill the accelerator: CPUs lag less behind it. */
const FILLED = 0.5;

/** Empty where there are too few steps to judge. */
export function ladderOf(evidence: Evidence): readonly Rung[] {
  const measures = measuresOf(evidence);
  if (measures === undefined) return [];
  return [
    fillOne(measures),
    largerNode(evidence, measures),
    moreNodes(measures),
    cpuInstead(evidence, measures),
  ];
}

function fillOne({ pace: { gpuBusy } }: Measures): Rung {
  const rung = 'fill-one-accelerator';
  if (gpuBusy === undefined)
    return { rung, verdict: 'unknown', evidence: {}, text: 'no accelerator was measured' };
  const isBusy = gpuBusy >= BUSY;
  return {
    rung,
    verdict: isBusy ? 'reached' : 'not-yet',
    evidence: { gpuBusy, aim: BUSY },
    text: isBusy
      ? 'the accelerator is busy: more of them is the next rung'
      : 'take the remedies above before a larger node or more nodes',
  };
}

/** Several accelerators of the same kind in one node exchange without the network. */
function largerNode({ instance, alternatives }: Evidence, { hosts, pace, usdPerSecond }: Measures): Rung {
  const rung = 'larger-node';
  const wanted = Math.max(2, hosts.length) * Math.max(1, instance.facts.acceleratorCount);
  const [node] = alternatives
    .filter(
      ({ facts }) => facts.accelerator !== undefined && facts.accelerator === instance.facts.accelerator,
    )
    .filter(({ facts }) => facts.acceleratorCount >= wanted)
    .toSorted((a, b) => a.usdPerSecond - b.usdPerSecond);
  if (node === undefined)
    return {
      rung,
      verdict: 'unknown',
      evidence: { wanted },
      text: 'no listed type has as many accelerators',
    };
  const exposed = exposedSeconds(hosts);
  const step = pace.stepSeconds - exposed;
  const scale = wanted / node.facts.acceleratorCount;
  const ratio =
    (step * scale * node.usdPerSecond) /
    (pace.stepSeconds * scaled(usdPerSecond, hosts.length, wanted, instance));
  return {
    rung,
    verdict: ratio < 1 ? 'pays' : 'does-not-pay',
    evidence: { costRatio: ratio, exposedSeconds: exposed, accelerators: node.facts.acceleratorCount },
    text: `${node.facts.type} beside ${wanted} accelerators on nodes of their own, a step of the same samples`,
  };
}

/** Today's price for as many accelerators as the larger node replaces. */
const scaled = (usd: number, hosts: number, wanted: number, { facts }: PricedType): number =>
  (usd / Math.max(1, hosts * Math.max(1, facts.acceleratorCount))) * wanted;

const exposedSeconds = (hosts: Measures['hosts']): number =>
  hosts.length < 2 ? 0 : Math.min(...hosts.map(({ exchange }) => exchange));

function moreNodes({ hosts, pace }: Measures): Rung {
  const rung = 'more-nodes';
  const efficiency = 1 - exposedSeconds(hosts) / pace.stepSeconds;
  if (hosts.length < 2)
    return {
      rung,
      verdict: (pace.gpuBusy ?? 1) >= BUSY ? 'unknown' : 'not-yet',
      evidence: { hosts: 1 },
      text: 'one node: its exchange with others is not measured',
    };
  return {
    rung,
    verdict: efficiency >= BUSY ? 'pays' : 'does-not-pay',
    evidence: { hosts: hosts.length, efficiency },
    text: `${hosts.length} nodes do ${(efficiency * hosts.length).toFixed(2)} times the work of one`,
  };
}

function cpuInstead({ instance, alternatives }: Evidence, { pace }: Measures): Rung {
  const rung = 'cpu';
  const { accelerator, acceleratorMemoryMib } = instance.facts;
  const speed = accelerator === undefined ? undefined : acceleratorSpeed(accelerator, acceleratorMemoryMib);
  if (speed === undefined || pace.gpuBusy === undefined)
    return { rung, verdict: 'unknown', evidence: {}, text: 'no accelerator was measured' };
  const work = pace.gpuBusy * pace.stepSeconds;
  const stepOn = ({ facts }: PricedType): number =>
    Math.max(
      (pace.workerCores * pace.stepSeconds) / coresForWorkers(facts.vcpu),
      pace.stepSeconds - work + (work * speed) / (facts.vcpu * VCPU_SPEED),
    );
  const [best] = alternatives
    .filter(({ facts }) => facts.acceleratorCount === 0)
    .toSorted((a, b) => stepOn(a) * a.usdPerSecond - stepOn(b) * b.usdPerSecond);
  if (best === undefined) return { rung, verdict: 'unknown', evidence: {}, text: 'no CPU type is listed' };
  const ratio = (stepOn(best) * best.usdPerSecond) / (pace.stepSeconds * instance.usdPerSecond);
  const isFilled = work >= FILLED * pace.compute;
  const caveat = isFilled ? '' : '; it is not filled, so CPUs may be much faster than that: probe them';
  return {
    rung,
    verdict: ratio < 1 ? 'pays' : isFilled ? 'does-not-pay' : 'unknown',
    evidence: { costRatio: ratio, stepSeconds: stepOn(best), gpuBusy: pace.gpuBusy },
    text: `${best.facts.type}, by the stated speed of a vCPU beside ${accelerator}${caveat}`,
  };
}
