/** Host memory does not hold the data until the next epoch, so the disk reads it again and again. */

import { diskRate } from '@tidewheel/catalog/speeds.ts';
import { type BatchCost, waitFacts } from './batch-cost.ts';
import { type Evidence, withSameAccelerators } from './evidence.ts';
import { byCpu, freeMemoryBytes, GIBIBYTE, hostDiskRate, missingShare } from './file-mode.ts';
import type { DoctorFinding, Option } from './gain.ts';
import type { HostMeasures, Measures } from './measures.ts';

/** A disk at this share of its rate is the limit. */
const FULL = 0.85;
/** Local NVMe reads at no rate that the catalog knows; from this one on, it counts as busy. */
const BUSY_NVME = 3e8;
/** Host memory that the system and the script's own growth keep from the page cache. */
const CACHE_SHARE = 0.95;

export function pageCacheFinding(
  evidence: Evidence,
  measures: Measures,
  cost: BatchCost,
): DoctorFinding | undefined {
  const { pace } = measures;
  const { data, instance } = evidence;
  const busy = instance.facts.nvmeGb > 0 ? BUSY_NVME : FULL * hostDiskRate(evidence);
  const share = missingShare(evidence, pace);
  if (pace.diskBytesPerSecond < busy || share === 0) return undefined;
  const options = [streamed(evidence, measures, cost), ...otherTypes(evidence, measures, cost)];
  // The cheapest of those that make the job shorter.
  const shorter = options
    .filter(
      ({ stepSeconds, startSeconds }) => (pace.stepSeconds - stepSeconds) * evidence.steps + startSeconds > 0,
    )
    .toSorted((a, b) => jobUsd(a, evidence) - jobUsd(b, evidence));
  const [best = options[0], ...others] = shorter;
  if (best === undefined) return undefined;
  return {
    cause: 'page-cache',
    evidence: {
      ...waitFacts(pace),
      diskBytesPerSecond: pace.diskBytesPerSecond,
      dataBytes: data.bytes,
      freeMemoryBytes: freeMemoryBytes(evidence, pace),
    },
    ...best,
    others: others.slice(0, MOST_OTHERS),
    next: 'the accelerator',
  };
}

type CacheRemedy = Option & Required<Pick<Option, 'stepSeconds' | 'startSeconds' | 'usdPerSecond'>>;
const MOST_OTHERS = 3;

/** What the disk reads shows what a step would stream. */
function streamed(
  evidence: Evidence,
  { pace, networkBytesPerSecond }: Measures,
  cost: BatchCost,
): CacheRemedy {
  const fed = Math.max(cost.rest, byCpu(pace, cost));
  return {
    change: { kind: 'input-mode', inputMode: 'FastFile' },
    stepSeconds: Math.max(fed, bytesOfStep(evidence, pace) / networkBytesPerSecond),
    startSeconds: evidence.phases.download,
    usdPerSecond: evidence.instance.usdPerSecond,
    modelError: 0.25,
    unknown: ['in which order the script reads', 'how fast the local disk could be'],
  };
}

const bytesOfStep = (evidence: Evidence, pace: HostMeasures): number =>
  (pace.diskBytesPerSecond * pace.stepSeconds) / Math.max(0.01, missingShare(evidence, pace));

/** Types whose memory holds the data, and, for a host on a volume, types whose NVMe reads the rest. */
function otherTypes(evidence: Evidence, { pace }: Measures, cost: BatchCost): readonly CacheRemedy[] {
  const { data, instance } = evidence;
  const used = pace.memoryUsed * instance.facts.memoryGib * GIBIBYTE;
  const fed = Math.max(cost.rest, byCpu(pace, cost));
  return withSameAccelerators(evidence).flatMap(({ facts, usdPerSecond }): readonly CacheRemedy[] => {
    const cached = Math.max(0, facts.memoryGib * GIBIBYTE * CACHE_SHARE - used);
    const missing = Math.max(0, 1 - cached / data.bytes);
    const change = { kind: 'instance-type', type: facts.type } as const;
    const common = { change, startSeconds: 0, usdPerSecond };
    if (missing === 0)
      return [
        { ...common, stepSeconds: fed, modelError: 0.25, unknown: ['in which order the script reads'] },
      ];
    if (facts.nvmeGb === 0 || instance.facts.nvmeGb > 0) return [];
    const byDisk = (missing * bytesOfStep(evidence, pace)) / diskRate(facts);
    const unknown = ['in which order the script reads', 'how fast its NVMe is: 700 MB/s are assumed'];
    return [{ ...common, stepSeconds: Math.max(fed, byDisk), modelError: 0.35, unknown }];
  });
}

const jobUsd = (each: CacheRemedy, { steps }: Evidence): number =>
  (each.stepSeconds * steps - each.startSeconds) * each.usdPerSecond;
