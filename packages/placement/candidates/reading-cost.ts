/** Seconds that a type needs to read the data of a step: what its memory does not hold comes from its disk or network. */

import type { InstanceFacts } from '@tidewheel/catalog/catalog.ts';
import { diskRate, isDiskRateAssumed } from '@tidewheel/catalog/speeds.ts';
import type { HostReading } from '@tidewheel/doctor/verdict.ts';

const GIBIBYTE = 2 ** 30;
const GIGABIT_BYTES = 125e6;

/** @param share of the measured host's bytes that one host there reads in a step */
export function readingCost(reading: HostReading | undefined, share: number, facts: InstanceFacts) {
  if (reading === undefined) return { diskSeconds: 0, networkSeconds: 0 };
  const bytes = reading.bytesPerStep * share;
  return reading.inputMode === 'File'
    ? { diskSeconds: (missing(reading, facts) * bytes) / diskRate(facts), networkSeconds: 0 }
    : { diskSeconds: 0, networkSeconds: bytes / streamRate(facts) };
}

/** The part of the data that has left the page cache when the next epoch asks for it. */
const missing = ({ dataBytes, processBytes }: HostReading, { memoryGib }: InstanceFacts): number =>
  Math.max(0, 1 - Math.max(0, memoryGib * GIBIBYTE - processBytes) / Math.max(1, dataBytes));

/** Of the baseline: AWS gives a burst by best effort, for minutes. */
const streamRate = ({ networkBaselineGbps }: InstanceFacts): number => networkBaselineGbps * GIGABIT_BYTES;

/** What of a type's memory, disk and network meets the reading, for the table of a placement. */
export function describeReading(reading: HostReading, facts: InstanceFacts): string {
  if (reading.inputMode === 'FastFile')
    return `streams its data at a baseline of ${megabytes(streamRate(facts))} a second`;
  const share = missing(reading, facts);
  if (share === 0) return `its memory holds the ${gigabytes(reading.dataBytes)} of data`;
  const rest = `${Math.ceil(share * 100)} % of the data, which its memory does not hold`;
  const disk = facts.nvmeGb > 0 ? 'its NVMe' : 'EBS';
  const assumed = isDiskRateAssumed(facts) ? 'an assumed ' : '';
  return `${disk} reads ${rest}, at ${assumed}${megabytes(diskRate(facts))} a second`;
}

const megabytes = (bytes: number): string => `${(bytes / 1e6).toFixed(0)} MB`;
const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(bytes < 1e10 ? 1 : 0)} GB`;

/** Beyond the baseline by more than the jitter of a link. */
const BURST = 1.1;

/**
 * Seconds of the same step once the burst has ended that it was measured in: what network or EBS read then was more than
 * their baseline, which AWS gives for minutes.
 * @returns undefined where the step needs no burst
 */
export function secondsWithoutBurst(
  reading: HostReading,
  stepSeconds: number,
  facts: InstanceFacts,
): number | undefined {
  const { diskSeconds, networkSeconds } = readingCost(reading, 1, facts);
  const atBaseline = Math.max(isDiskRateAssumed(facts) ? 0 : diskSeconds, networkSeconds);
  return atBaseline > BURST * stepSeconds ? atBaseline : undefined;
}
