/** Seconds that a type needs to read the data of a step: what its memory does not hold comes from its disk or network. */
import type { InstanceFacts } from '../../catalog/catalog.ts';
import { diskRate } from '../../catalog/disk-rate.ts';
import type { Reading } from '../../doctor/reading.ts';

const GIBIBYTE = 2 ** 30;
const GIGABIT_BYTES = 125e6;

interface ReadingCost {
  readonly diskSeconds: number;
  readonly networkSeconds: number;
}

/** @param share of the measured host's bytes that one host there reads in a step */
export function readingCost(reading: Reading | undefined, share: number, facts: InstanceFacts): ReadingCost {
  if (reading === undefined) return { diskSeconds: 0, networkSeconds: 0 };
  const bytes = reading.bytesPerStep * share;
  return reading.inputMode === 'File'
    ? { diskSeconds: (missing(reading, facts) * bytes) / diskRate(facts), networkSeconds: 0 }
    : { diskSeconds: 0, networkSeconds: bytes / streamRate(facts) };
}

/** The part of the data that has left the page cache when the next epoch asks for it. */
const missing = ({ dataBytes, processBytes }: Reading, { memoryGib }: InstanceFacts): number =>
  Math.max(0, 1 - Math.max(0, memoryGib * GIBIBYTE - processBytes) / Math.max(1, dataBytes));

/** Of the baseline: AWS gives a burst by best effort, for minutes. */
const streamRate = ({ networkBaselineGbps: gbps }: InstanceFacts): number =>
  gbps <= 0 ? Number.POSITIVE_INFINITY : gbps * GIGABIT_BYTES;

/** What of a type's memory, disk and network meets the reading, for the table of a placement. */
export function describeReading(reading: Reading, facts: InstanceFacts): string {
  if (reading.inputMode === 'FastFile')
    return `streams its data at a baseline of ${megabytes(streamRate(facts))} a second`;
  const share = missing(reading, facts);
  if (share === 0) return `its memory holds the ${gigabytes(reading.dataBytes)} of data`;
  const rest = `${Math.ceil(share * 100)} % of the data, which its memory does not hold`;
  return facts.nvmeGb > 0
    ? `its NVMe reads ${rest}`
    : `EBS reads ${rest}, at ${megabytes(diskRate(facts))} a second`;
}

const megabytes = (bytes: number): string =>
  Number.isFinite(bytes) ? `${(bytes / 1e6).toFixed(0)} MB` : 'an unknown number of MB';
const gigabytes = (bytes: number): string => `${(bytes / 1e9).toFixed(bytes < 1e10 ? 1 : 0)} GB`;
