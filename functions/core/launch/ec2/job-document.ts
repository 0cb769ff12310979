/** job.json: what the hosts of an EC2 attempt read to become training containers, and what the service reads back. */
import * as z from 'zod';
import type { JobParts } from '../job/job-parts.ts';

/** Raised when a field changes its meaning; hosts refuse a version that they do not know. */
export const JOB_DOCUMENT_VERSION = 1;

export interface JobDocument extends JobParts {
  readonly version: typeof JOB_DOCUMENT_VERSION;
  readonly nodes: number;
  /** With `ml.`, as containers on SageMaker read it in resourceconfig.json. */
  readonly instanceType: string;
  readonly region: string;
  readonly managedSpot: boolean;
  readonly maximumRunSeconds: number;
  /** What an hour costs over what it costs on demand; 1 on demand. */
  readonly priceRatio: number;
  /** Hosts that are lost are replaced, and the others stay. */
  readonly refills: boolean;
  /** Of CloudWatch Logs; each host has a stream in it. */
  readonly logGroup?: string | undefined;
}

/** The part that the service itself needs of it. */
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

/** What a host writes about itself, first when it starts the agent and again at its end. */
export const hostReportSchema = z.object({
  instanceId: z.string(),
  startedAt: z.iso.datetime(),
  /** The last round that it trained in; absent in the first. */
  round: z.number().int().min(1).optional(),
  endedAt: z.iso.datetime().optional(),
  /** Of the agent; absent while it runs. */
  exitCode: z.number().int().optional(),
  /** Why the host ended the agent, if it did. */
  stoppedBy: z.enum(['spot', 'timeLimit', 'stop']).optional(),
  /** First 1,024 characters of the failure file. */
  failure: z.string().optional(),
  modelUri: z.string().optional(),
  /** Files of checkpoints that the host did not find in the bucket after its last upload. */
  unsavedFiles: z.number().int().min(0).optional(),
});
export type HostReport = z.infer<typeof hostReportSchema>;
