/** FSx for Lustre where runs repeat on the same data: no start downloads it, and the file system is paid by the month. */
import { fileSystemHourlyUsd, lustreGigabytesFor } from '@tidewheel/catalog/prices.ts';
import type { Evidence } from './evidence.ts';
import type { Option } from './gain.ts';
import type { Measures } from './measures.ts';

const HOURS_OF_A_MONTH = 730;
/** SCRATCH_2: 200 MB/s for each TiB. https://docs.aws.amazon.com/fsx/latest/LustreGuide/performance.html */
const BYTES_PER_SECOND_A_GIGABYTE = 2e8 / 1_024;
/** A file system for a run that does not come again is a disk that is paid for all month. */
const LEAST_RUNS_A_MONTH = 2;

/** None where nothing says how often runs read these data, or only one does. */
export function fileSystemOptions(evidence: Evidence, measures: Measures): readonly Option[] {
  const { data, phases, inputMode, runsPerMonth = 0, steps } = evidence;
  if (runsPerMonth < LEAST_RUNS_A_MONTH || data.bytes === 0) return [];
  const { pace, hosts, networkBytesPerSecond } = measures;
  const gigabytes = lustreGigabytesFor(data.bytes);
  const ofOneHost = (gigabytes * BYTES_PER_SECOND_A_GIGABYTE) / hosts.length;
  const rate = Math.min(ofOneHost, networkBytesPerSecond);
  const now = inputMode === 'File' ? pace.stepSeconds : pace.stepSeconds - pace.wait;
  const streamed = inputMode === 'File' ? 0 : pace.receivedBytesPerSecond * pace.stepSeconds;
  // However the script reads, it reads all of the data once.
  const once = data.bytes / Math.max(1, steps);
  const monthlyUsd = fileSystemHourlyUsd({ kind: 'lustre', gigabytes }) * HOURS_OF_A_MONTH;
  const option: Option = {
    change: { kind: 'file-system', gigabytes },
    stepSeconds: Math.max(now, streamed / rate, once / rate),
    startSeconds: inputMode === 'File' ? phases.download : 0,
    usd: monthlyUsd / runsPerMonth,
    modelError: 0.25,
    unknown: [
      `whether ${Math.round(runsPerMonth)} runs a month go on: they share $${monthlyUsd.toFixed(0)} of storage`,
      'the first read of each file, which FSx fetches from S3',
    ],
  };
  return [option];
}
