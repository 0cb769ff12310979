/**
 * Chooses how the shards reach the script. File downloads them before training and again after every interruption.
 * FastFile shows the same folder and streams each file from S3 when it is read. Pipe is FIFOs, for scripts that read them.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/model-access-training-data.html
 */
import { trainingType } from '@tidewheel/declaration/instance-types.ts';
import type { Problem } from '@tidewheel/kit/errors.ts';
import { instanceFacts } from '../facts/catalog.ts';
import { diskRate } from '../facts/disk-rate.ts';
import { bytesPerHost, type Download, type DownloadQuestion, downloadOf, NO_DOWNLOAD } from './download.ts';

/** As SageMaker's TrainingInputMode. */
export type InputMode = 'File' | 'FastFile' | 'Pipe';

export interface InputChoice {
  readonly mode: InputMode;
  /** Includes the deciding figures. */
  readonly reason: string;
}

type InputAnswer = InputChoice | { readonly problem: Problem };

/** The rest of the disk is for the source, the checkpoints and the model. */
const USABLE_SHARE = 0.8;
/** Spot may repeat the download, so its limit is lower. */
const MAXIMUM_DOWNLOAD_SECONDS = { spot: 300, 'on-demand': 900 } as const;
/** Stated: of the memory, what the page cache has for shards beside the training. */
const CACHED_SHARE = 0.5;
/** With smaller shards FastFile spends its time on opening objects. */
const STREAMABLE_BYTES = 16e6;

export function chooseInput(question: DownloadQuestion): InputAnswer {
  const { dataset, training } = question;
  if (dataset.generations === 0) return { mode: 'File', reason: 'there are no shards' };
  const declared = training.inputMode ?? 'auto';
  const facts = factsOf(question);
  if (declared === 'FastFile' || declared === 'Pipe')
    return { mode: declared, reason: `as declared: ${STREAMED[declared]}, ${size(facts.download.bytes)}` };
  const reason = whyFile(declared, dataset);
  if (reason !== undefined) return fileModeOrProblem(reason, facts);
  return automatic(question, facts);
}

/** What File mode downloads before the script starts. */
export function inputDownload(question: DownloadQuestion): Download | { readonly problem: Problem } {
  const choice = chooseInput(question);
  if ('problem' in choice) return choice;
  return choice.mode === 'File' ? factsOf(question).download : NO_DOWNLOAD;
}

const STREAMED = {
  FastFile: 'no download before the start; each epoch reads what it needs from S3',
  Pipe: 'no download before the start; each epoch comes once, in order, through a FIFO',
} as const;

interface Facts {
  /** Of one host. */
  readonly download: Download;
  /** Undefined where no source says how large the type's NVMe is. */
  readonly usableBytes: number | undefined;
  /** Undefined for a type outside the catalog. */
  readonly isCached: boolean | undefined;
}

function factsOf(question: DownloadQuestion): Facts {
  const { instanceType } = question;
  const facts = instanceFacts(instanceType);
  const gigabytes = diskGigabytes(question);
  const download = downloadOf(instanceType, bytesPerHost(question));
  // The rate of a disk is assumed, so it lengthens what is expected and refuses no download.
  const onDisk = facts === undefined ? 0 : download.bytes / diskRate(facts);
  return {
    download: { ...download, seconds: Math.max(download.seconds, onDisk) },
    usableBytes: gigabytes === undefined ? undefined : gigabytes * 1e9 * USABLE_SHARE,
    isCached: facts && download.bytes <= facts.memoryGib * 2 ** 30 * CACHED_SHARE,
  };
}

/** The type's NVMe if it has one, otherwise the requested volume. */
function diskGigabytes({ compute, instanceType }: DownloadQuestion): number | undefined {
  const local = trainingType(instanceType)?.localStorage ?? false;
  return local ? instanceFacts(instanceType)?.nvmeGb : compute.volumeGigabytes;
}

/** Undefined where the shards may be streamed. */
function whyFile(
  declared: 'File' | 'auto',
  { generations, isUnpacked }: DownloadQuestion['dataset'],
): string | undefined {
  if (declared === 'File') return 'as declared: all is downloaded before the start';
  if (isUnpacked) return 'the files of a version need a manifest, which FastFile cannot read';
  return generations > 1 ? 'several generations need a manifest, which FastFile cannot read' : undefined;
}

/** Where only File is possible, shards beyond the disk are a problem for the user. */
function fileModeOrProblem(reason: string, { download, usableBytes, isCached }: Facts): InputAnswer {
  if (usableBytes === undefined || download.bytes <= usableBytes)
    return { mode: 'File', reason: reason + later(isCached) };
  const needed = Math.ceil(download.bytes / USABLE_SHARE / 1e9);
  const message = `${size(download.bytes)} of shards do not fit a host's disk: give it ${needed} GB (compute.volumeGigabytes, or a type with more NVMe) or divide the shards (tuning.training.distribution: ShardedByS3Key)`;
  return { problem: { path: 'compute.volumeGigabytes', message } };
}

function automatic(
  { dataset: { shards, bytes }, purchaseOption }: DownloadQuestion,
  { download, usableBytes, isCached }: Facts,
): InputChoice {
  const average = bytes / Math.max(1, shards);
  const wait = `about ${Math.round(download.seconds)} s to download ${size(download.bytes)}`;
  if (usableBytes === undefined && average >= STREAMABLE_BYTES)
    return { mode: 'FastFile', reason: 'how much disk the type has is not known, so nothing is put on it' };
  if (usableBytes !== undefined && download.bytes > usableBytes) {
    return {
      mode: 'FastFile',
      reason: `${size(download.bytes)} do not fit the ${size(usableBytes)} that a host has for them`,
    };
  }
  // What memory holds comes sooner than that on all types but p3dn.24xlarge, so it needs no rule of its own.
  if (download.seconds <= MAXIMUM_DOWNLOAD_SECONDS[purchaseOption])
    return { mode: 'File', reason: wait + later(isCached) };
  if (average < STREAMABLE_BYTES) {
    return {
      mode: 'File',
      reason: `${wait}, but ${shards} shards of ${size(average)} are too small to be streamed`,
    };
  }
  const again = purchaseOption === 'spot' ? ' at every start, also after an interruption' : '';
  return {
    mode: 'FastFile',
    reason: `${wait}${again}; ${shards} shards of ${size(average)} stream well`,
  };
}

function later(isCached: boolean | undefined): string {
  if (isCached === undefined) return '';
  return isCached
    ? '; later epochs read it from memory'
    : '; later epochs read it from the disk, for it is more than half of the memory';
}

const UNITS = [
  ['TB', 1e12],
  ['GB', 1e9],
  ['MB', 1e6],
] as const;

function size(bytes: number): string {
  const [unit, factor] = UNITS.find(([, each]) => bytes >= each) ?? ['kB', 1e3];
  return `${(bytes / factor).toFixed(1)} ${unit}`;
}
