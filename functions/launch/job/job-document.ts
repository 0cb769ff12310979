/**
 * job.json describes the job to hosts that Tidewheel's own program serves (`training/agent/tidewheel_host`), and the
 * hosts' reports describe them to the service. SageMaker's hosts need neither.
 */

import { bytesPerHost, type DownloadQuestion, datasetSizeOf } from '@tidewheel/catalog/data-on-hosts.ts';
import { strategyTraits } from '@tidewheel/declaration/launchers.ts';
import { requestedAs, samePool } from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import type { JobInput, JobParts } from './job-parts.ts';

/** Both lie in the attempt's folder. */
export const JOB_DOCUMENT = 'job.json';
export const HOSTS_FOLDER = 'hosts/';

/** Raised when a field changes its meaning. Hosts refuse an unknown version. */
const JOB_DOCUMENT_VERSION = 1;

export interface JobDocument extends JobParts {
  readonly version: typeof JOB_DOCUMENT_VERSION;
  readonly nodes: number;
  /** With `ml.`, as in SageMaker's resourceconfig.json. */
  readonly instanceType: string;
  readonly region: string;
  readonly managedSpot: boolean;
  readonly maximumRunSeconds: number;
  /** The hourly price divided by the On-Demand price; 1 on demand. */
  readonly priceRatio: number;
  /** Whether lost hosts are replaced while the others stay. */
  readonly refills: boolean;
  /** Bytes of the shards that one host fetches. */
  readonly downloadBytes: number;
  /** Log group of CloudWatch Logs with one stream per host. */
  readonly logGroup?: string | undefined;
}

interface HostsOfLauncher {
  /** Whether the launcher can replace a lost host. */
  readonly canRefill: boolean;
  readonly logGroup?: string | undefined;
}

export function jobDocument(
  input: JobInput,
  parts: JobParts,
  { canRefill, logGroup }: HostsOfLauncher,
): JobDocument {
  const { placement, region, declaration } = input;
  const chosen = placement.considered.find(({ pool }) => samePool(pool, placement.pool));
  const ratio = (chosen?.hourlyUsd ?? placement.onDemandHourlyUsd) / placement.onDemandHourlyUsd;
  const isGang = placement.topology.nodes > 1;
  return {
    ...parts,
    version: JOB_DOCUMENT_VERSION,
    nodes: placement.topology.nodes,
    instanceType: `ml.${placement.pool.instanceType}`,
    region,
    managedSpot: placement.pool.purchaseOption === 'spot',
    maximumRunSeconds: placement.maximumRunSeconds,
    priceRatio: Number.isFinite(ratio) && ratio > 0 ? ratio : 1,
    // A Capacity Block has no other hosts than its own.
    refills:
      canRefill &&
      isGang &&
      placement.reserved?.kind !== 'capacity-block' &&
      strategyTraits[declaration.training.strategy].replacesLostHosts,
    downloadBytes: bytesPerHost(downloadQuestion(input)),
    ...(logGroup === undefined ? {} : { logGroup }),
  };
}

export const downloadQuestion = ({
  generations,
  declaration: { compute, training },
  placement: { pool, topology },
}: JobInput): DownloadQuestion => ({
  dataset: datasetSizeOf(generations),
  compute,
  training,
  instanceType: pool.instanceType,
  nodes: topology.nodes,
  purchaseOption: requestedAs(pool),
});

/** The fields that the service itself reads. */
export const jobDocumentSchema = z.object({
  version: z.literal(JOB_DOCUMENT_VERSION),
  TrainingJobName: z.string(),
  nodes: z.number().int().min(1),
  managedSpot: z.boolean(),
  maximumRunSeconds: z.number().int().min(1),
  priceRatio: z.number().positive(),
  instanceType: z.string(),
  refills: z.boolean().default(false),
  Tags: z.array(z.object({ Key: z.string(), Value: z.string() })),
  OutputDataConfig: z.object({ S3OutputPath: z.string() }),
});

export type StoredJob = z.infer<typeof jobDocumentSchema>;

/** A host's report about itself, written once it has parsed its job, at each phase, every minute and at its end. */
export const hostReportSchema = z.object({
  instanceId: z.string().max(100),
  /** Launch time from the instance identity document. */
  launchedAt: z.iso.datetime().optional(),
  /** Start of the host's program. */
  startedAt: z.iso.datetime(),
  /** Time of the report. */
  seenAt: z.iso.datetime(),
  phase: z.enum(['started', 'downloading', 'installing', 'script']),
  scriptStartedAt: z.iso.datetime().optional(),
  downloadedBytes: z.number().int().min(0).optional(),
  downloadBytes: z.number().int().min(0).optional(),
  /** The last round in which it trained; absent in the first. */
  round: z.number().int().min(1).optional(),
  endedAt: z.iso.datetime().optional(),
  /** Exit code of the agent; absent while it runs. */
  exitCode: z.number().int().optional(),
  /** Why the host ended the agent, if it did. */
  stoppedBy: z.enum(['spot', 'timeLimit', 'stop']).optional(),
  /** First 1,024 characters of the failure file. */
  failure: z
    .string()
    .transform((text) => text.slice(0, 1_024))
    .optional(),
  modelUri: z.string().max(2_048).optional(),
  /** Number of checkpoint files missing in the bucket after the host's last upload. */
  unsavedFiles: z.number().int().min(0).optional(),
});
export type HostReport = z.infer<typeof hostReportSchema>;
