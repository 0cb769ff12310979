/** Host memory does not hold the data until the next epoch, so the disk reads it again and again. */
import { type BatchCost, waitFacts } from './batch-cost.ts';
import type { Evidence, PricedType } from './evidence.ts';
import { byCpu, diskBytesPerSecond, freeMemoryBytes, missingShare } from './file-mode.ts';
import type { Finding } from './gain.ts';
import type { Measures } from './measures.ts';

/** A disk at this share of its rate is the limit. */
const FULL = 0.85;
const GIBIBYTE = 2 ** 30;
/** Local NVMe reads at no rate that the catalog knows; from this one on, it counts as busy. */
const BUSY_NVME = 3e8;
/** Host memory that the system and the script's own growth keep from the page cache. */
const CACHE_SHARE = 0.95;

export function pageCacheFinding(
  evidence: Evidence,
  measures: Measures,
  cost: BatchCost,
): Finding | undefined {
  const { pace, networkBytesPerSecond } = measures;
  const { data, instance, alternatives } = evidence;
  const used = pace.memoryUsed * instance.facts.memoryGib * GIBIBYTE;
  const busy = instance.facts.nvmeGb > 0 ? BUSY_NVME : FULL * diskBytesPerSecond(evidence);
  const share = missingShare(evidence, pace);
  if (pace.diskBytesPerSecond < busy || share === 0) return undefined;
  const fed = Math.max(cost.rest, byCpu(pace, cost));
  const holds = ({ facts }: PricedType): boolean =>
    facts.accelerator === instance.facts.accelerator &&
    facts.acceleratorCount === instance.facts.acceleratorCount &&
    facts.memoryGib * GIBIBYTE * CACHE_SHARE > data.bytes + used;
  const larger = alternatives.filter(holds).map((each) => ({
    change: { kind: 'instance-type', type: each.facts.type } as const,
    stepSeconds: fed,
    startSeconds: 0,
    usdPerSecond: each.usdPerSecond,
  }));
  const bytes = (pace.diskBytesPerSecond * pace.stepSeconds) / Math.max(0.01, share);
  const stream = {
    change: { kind: 'input-mode', inputMode: 'FastFile' } as const,
    stepSeconds: Math.max(fed, bytes / networkBytesPerSecond),
    startSeconds: evidence.phases.download,
    usdPerSecond: instance.usdPerSecond,
  };
  // The cheapest of those that make the job shorter.
  const [best] = [stream, ...larger]
    .filter(
      ({ stepSeconds, startSeconds }) => (pace.stepSeconds - stepSeconds) * evidence.steps + startSeconds > 0,
    )
    .toSorted((a, b) => jobUsd(a, evidence) - jobUsd(b, evidence));
  return {
    cause: 'page-cache',
    evidence: {
      ...waitFacts(pace),
      diskBytesPerSecond: pace.diskBytesPerSecond,
      dataBytes: data.bytes,
      freeMemoryBytes: freeMemoryBytes(evidence, pace),
    },
    ...(best ?? stream),
    modelError: 0.25,
    unknown: ['in which order the script reads', 'how fast the local disk could be'],
    next: 'the accelerator',
  };
}

const jobUsd = (
  each: { readonly stepSeconds: number; readonly startSeconds: number; readonly usdPerSecond: number },
  { steps }: Evidence,
): number => (each.stepSeconds * steps - each.startSeconds) * each.usdPerSecond;
