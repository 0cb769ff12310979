/**
 * Chooses how the shards reach the script. File downloads them before training and again after every interruption.
 * FastFile shows the same folder and streams each file from S3 when it is read. Pipe is FIFOs, for scripts that read them.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/model-access-training-data.html
 */
import { instanceFacts } from '../../catalog/catalog.ts';
import { trainingType } from '../../catalog/types/training-types.ts';
import type { GenerationShards } from '../../dataset/dataset.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import type { Placement } from '../../runs/run-records.ts';
import type { Problem } from '../../shared/errors.ts';
import type { InputMode } from '../job/request.ts';

export interface InputChoice {
  readonly mode: InputMode;
  /** Includes the deciding figures. */
  readonly reason: string;
}

export interface InputQuestion {
  readonly declaration: Pipeline;
  readonly placement: Placement;
  readonly generations: readonly GenerationShards[];
}

/** The rest of the disk is for the source, the checkpoints and the model. */
const USABLE_SHARE = 0.8;
/** The share of its baseline bandwidth that a host reads from S3 with one connection per file. */
const DOWNLOAD_SHARE = 0.5;
/** For types outside the catalog: 1 Gbit/s. */
const DEFAULT_BYTES_PER_SECOND = 125e6;
/** Spot may repeat the download, so its limit is lower. */
const MAXIMUM_DOWNLOAD_SECONDS = { spot: 300, 'on-demand': 900 } as const;
/** With smaller shards FastFile spends its time on opening objects. */
const STREAMABLE_BYTES = 16e6;

export function chooseInput(question: InputQuestion): InputChoice | { readonly problem: Problem } {
  if (question.generations.length === 0) return { mode: 'File', reason: 'there are no shards' };
  const declared = question.declaration.training.inputMode ?? 'auto';
  const facts = factsOf(question);
  if (declared === 'FastFile' || declared === 'Pipe') return { mode: declared, reason: 'as declared' };
  if (declared === 'File' || question.generations.length > 1) return fileModeOrProblem(declared, facts);
  return automatic(question, facts);
}

interface Facts {
  readonly shards: number;
  /** Bytes of all shards, and of the shards of one host. */
  readonly bytes: number;
  readonly bytesPerHost: number;
  readonly usableBytes: number;
  readonly downloadSeconds: number;
}

function factsOf({ declaration, placement, generations }: InputQuestion): Facts {
  const bytes = generations.reduce((sum, { totals }) => sum + totals.bytes, 0);
  const hosts = declaration.training.distribution === 'ShardedByS3Key' ? placement.topology.nodes : 1;
  const bytesPerHost = bytes / hosts;
  const gigabits = instanceFacts(placement.pool.instanceType)?.networkBaselineGbps;
  const rate = gigabits ? (gigabits * 1e9 * DOWNLOAD_SHARE) / 8 : DEFAULT_BYTES_PER_SECOND;
  return {
    shards: generations.reduce((sum, { totals }) => sum + totals.shards, 0),
    bytes,
    bytesPerHost,
    usableBytes: diskBytes(declaration, placement) * USABLE_SHARE,
    downloadSeconds: bytesPerHost / rate,
  };
}

/** The type's NVMe if it has one, otherwise the requested volume. */
function diskBytes({ compute }: Pipeline, { pool }: Placement): number {
  const local = trainingType(pool.instanceType)?.localStorage ?? false;
  const gigabytes = local ? instanceFacts(pool.instanceType)?.nvmeGb : compute.volumeGigabytes;
  return (gigabytes ?? Number.POSITIVE_INFINITY) * 1e9;
}

/** Where only File is possible, shards beyond the disk are a problem for the user. */
function fileModeOrProblem(
  declared: 'File' | 'auto',
  facts: Facts,
): InputChoice | { readonly problem: Problem } {
  const reason =
    declared === 'File' ? 'as declared' : 'several generations need a manifest, which FastFile cannot read';
  if (facts.bytesPerHost <= facts.usableBytes) return { mode: 'File', reason };
  const needed = Math.ceil(facts.bytesPerHost / USABLE_SHARE / 1e9);
  const message = `${size(facts.bytesPerHost)} of shards do not fit a host's disk: give it ${needed} GB (compute.volumeGigabytes, or a type with more NVMe) or divide the shards (training.distribution: ShardedByS3Key)`;
  return { problem: { path: 'compute.volumeGigabytes', message } };
}

function automatic({ placement }: InputQuestion, facts: Facts): InputChoice {
  const { bytesPerHost, usableBytes, downloadSeconds } = facts;
  const average = facts.bytes / Math.max(1, facts.shards);
  const { purchaseOption } = placement.pool;
  const wait = `about ${Math.round(downloadSeconds)} s to download ${size(bytesPerHost)}`;
  if (bytesPerHost > usableBytes) {
    return {
      mode: 'FastFile',
      reason: `${size(bytesPerHost)} do not fit the ${size(usableBytes)} that a host has for them`,
    };
  }
  if (downloadSeconds <= MAXIMUM_DOWNLOAD_SECONDS[purchaseOption]) return { mode: 'File', reason: wait };
  if (average < STREAMABLE_BYTES) {
    return {
      mode: 'File',
      reason: `${wait}, but ${facts.shards} shards of ${size(average)} are too small to be streamed`,
    };
  }
  const again = purchaseOption === 'spot' ? ' at every start, also after an interruption' : '';
  return {
    mode: 'FastFile',
    reason: `${wait}${again}; ${facts.shards} shards of ${size(average)} stream well`,
  };
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
