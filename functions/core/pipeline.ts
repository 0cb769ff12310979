/**
 * What a user declares: where data arrives, how it is packed, what trains, on which compute, by when.
 * One schema validates `pipelines/<name>.yaml`, the API's PUT body, and generates the editors' JSON Schema.
 */
import * as z from 'zod';
import { ec2Schema, helpersSchema, instanceType } from './compute-parts.ts';

export { TRAINING_GROUP } from './compute-parts.ts';

/** Lower case, 1-32 characters: the name becomes part of keys, execution names and SageMaker job names (63). */
export const pipelineName = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]{0,30}[a-z0-9])?$/, 'use 1 to 32 of a-z, 0-9 and inner hyphens')
  .refine((name) => name !== 'pipelines' && name !== 'agent', 'this name is reserved, choose another');

const seconds = (minimum: number, maximum: number) => z.number().int().min(minimum).max(maximum);

export const settleSchema = z.strictObject({
  quietSeconds: seconds(1, 86_400)
    .default(60)
    .describe('A batch is complete when nothing changed under incoming/ for this long.'),
  maximumWaitSeconds: seconds(1, 7 * 86_400)
    .default(3_600)
    .describe('A batch is closed after this long even if objects keep arriving.'),
  marker: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe('An object with this name under incoming/ closes the batch at once, e.g. _SUCCESS.'),
});

/** Long texts and nested repetition are refused by length alone: keys have at most 1,024 bytes. */
function isPatternWithGroup(pattern: string): boolean {
  try {
    return (new RegExp(`${pattern}|`, 'u').exec('')?.length ?? 0) === 2;
  } catch {
    return false;
  }
}

export const packingSchema = z
  .strictObject({
    format: z
      .enum(['webdataset', 'tfrecord', 'recordio', 'mds', 'lines', 'records'])
      .default('webdataset')
      .describe('The shard format; docs/datasets.md compares them.'),
    shardMegabytes: z
      .number()
      .min(1)
      .max(5_000)
      .default(256)
      .describe('Target size of a shard in 10^6 bytes.'),
    seed: z
      .number()
      .int()
      .min(0)
      .max(2 ** 31 - 1)
      .default(0)
      .describe('Seed of the shuffle.'),
    accept: z
      .array(z.string().regex(/^\.[A-Za-z0-9.]{1,20}$/, 'write suffixes as .png'))
      .min(1)
      .optional()
      .describe(
        'Suffixes taken; anything else is rejected, with its reason in the manifest. Default: everything.',
      ),
    label: z
      .enum(['parentFolder', 'namePattern', 'none'])
      .default('parentFolder')
      .describe(
        'Where a sample gets its label: from the folder that holds it, or from its key by labelPattern. It becomes the member <key>.cls.',
      ),
    labelPattern: z
      .string()
      .min(1)
      .max(200)
      .refine(isPatternWithGroup, 'write a regular expression with one group in brackets, such as ^([a-z]+)_')
      .optional()
      .describe(
        'For namePattern: the first group of this regular expression, found in the key under incoming/, is the label.',
      ),
    labelType: z
      .enum(['text', 'integer'])
      .default('text')
      .describe('integer: tfrecord and mds hold the label as an int64, and other labels are rejected.'),
    shuffle: z
      .boolean()
      .default(true)
      .describe('Shuffle all samples of a generation by the seed; false keeps the order of keys.'),
    shardsMultipleOf: z
      .number()
      .int()
      .min(1)
      .max(10_000)
      .default(1)
      .describe('Make the number of shards a multiple of this, so that hosts and workers share them evenly.'),
    remainder: z
      .enum(['ragged', 'even', 'drop'])
      .default('ragged')
      .describe(
        'Shards of unequal sample counts: leave them, repeat samples to fill them, or leave samples for later.',
      ),
    lines: z
      .strictObject({
        kind: z.enum(['text', 'jsonl', 'csv', 'libsvm']).default('text'),
        header: z
          .enum(['none', 'perShard', 'drop'])
          .default('none')
          .describe('CSV sources with a header line: keep it once in each shard, or leave it out.'),
      })
      .prefault({})
      .describe('Only for the format lines.'),
    records: z
      .strictObject({ kind: z.enum(['tfrecord', 'recordio']).default('tfrecord') })
      .prefault({})
      .describe('Only for the format records: what the arrivals are.'),
    whenDone: z
      .enum(['keep', 'delete'])
      .default('keep')
      .describe('What becomes of the packed arrivals after the seal.'),
  })
  .refine(({ label, labelPattern }) => label !== 'namePattern' || labelPattern !== undefined, {
    path: ['labelPattern'],
    message: 'name the pattern that finds the label in the key',
  })
  .refine(({ format, shardMegabytes }) => format !== 'mds' || shardMegabytes <= 4_000, {
    path: ['shardMegabytes'],
    message: 'mds holds 32-bit offsets: 4000 at most',
  });

const hyperparameter = z.union([
  z
    .string()
    .max(2_000)
    .refine((value) => !value.includes('\n'), 'a hyperparameter holds no newline'),
  z.number(),
  z.boolean(),
]);

export const trainingSchema = z.strictObject({
  strategy: z.enum(['single', 'ddp']).describe('How processes cooperate in training.'),
  source: z
    .string()
    .regex(/^(s3:\/\/[a-z0-9.-]{3,63}\/.+\/|[A-Za-z0-9._/-]+\/)$/, 'name an S3 prefix that ends with a slash')
    .default('source/')
    .describe(
      "Prefix of the training code: s3://bucket/prefix/ or a prefix under the pipeline's own folder.",
    ),
  entryPoint: z
    .string()
    .regex(/^[A-Za-z0-9_][A-Za-z0-9_./-]{0,199}\.py$/, 'name a .py file inside the source')
    .refine((path) => !path.includes('..'), 'leave out ".."')
    .default('train.py'),
  framework: z.enum(['pytorch']).default('pytorch'),
  frameworkVersion: z
    .string()
    .regex(/^\d+\.\d+(\.\d+)?$/)
    .default('2.13'),
  image: z.string().min(1).max(255).regex(/^\S+$/).optional().describe('A training image of your own.'),
  hyperparameters: z
    .record(z.string().regex(/^[A-Za-z][A-Za-z0-9_.-]{0,99}$/, 'start with a letter'), hyperparameter)
    .refine((all) => Object.keys(all).length <= 80, 'at most 80 hyperparameters')
    .refine((all) => Object.keys(all).every((key) => !key.startsWith('sagemaker_')), 'sagemaker_ is reserved')
    .default({}),
  inputMode: z
    .enum(['auto', 'File', 'FastFile', 'Pipe'])
    .optional()
    .describe(
      'How shards reach the script: auto (the default) downloads what fits and is quick, else streams.',
    ),
  distribution: z
    .enum(['FullyReplicated', 'ShardedByS3Key'])
    .default('FullyReplicated')
    .describe('Whether every host gets all shards or its share of them.'),
});

export const computeSchema = z.strictObject({
  instanceTypes: z
    .array(instanceType)
    .min(1)
    .max(30)
    .describe('Interchangeable types; three or more score best.'),
  nodes: z.number().int().min(1).max(64).default(1),
  helpers: helpersSchema
    .optional()
    .describe('Groups of CPU nodes beside the nodes that train, for strategies that preprocess there.'),
  spotWithHelpers: z
    .boolean()
    .optional()
    .describe('Try managed Spot with helper groups. AWS does not say whether it takes both together.'),
  market: z
    .enum(['spot', 'on-demand', 'spot-then-on-demand'])
    .default('spot-then-on-demand')
    .describe('spot-then-on-demand changes to On-Demand when the deadline needs it.'),
  launcher: z
    .enum(['sagemaker', 'ec2'])
    .optional()
    .describe('Where the job runs: sagemaker (the default), or ec2 for instances of your own account.'),
  ec2: ec2Schema.optional(),
  volumeGigabytes: z.number().int().min(1).max(16_384).default(30),
  vpc: z
    .strictObject({
      securityGroupIds: z
        .array(z.string().regex(/^sg-[0-9a-z]{1,29}$/))
        .min(1)
        .max(5),
      subnets: z
        .array(
          z.strictObject({
            id: z.string().regex(/^subnet-[0-9a-z]{1,25}$/),
            zoneId: z.string().regex(/^[a-z0-9-]+-az\d+$/),
          }),
        )
        .min(1)
        .max(16),
    })
    .optional()
    .describe('With a VPC a zone can be chosen: each attempt gets the one subnet of its zone.'),
});

export const limitsSchema = z.strictObject({
  deadlineHours: z
    .number()
    .positive()
    .max(24 * 28)
    .default(24)
    .describe('From the close of the batch to the model.'),
  maximumRunSeconds: seconds(60, 28 * 86_400)
    .default(86_400)
    .describe('Longest training time of one attempt.'),
  budgetUsd: z
    .number()
    .positive()
    .optional()
    .describe('No attempt starts that may pass this sum for the run.'),
  attempts: z.number().int().min(1).max(1_000).default(50),
});

/** https://docs.aws.amazon.com/scheduler/latest/UserGuide/schedule-types.html */
const SCHEDULE = /^(rate\([1-9]\d{0,5} (minute|hour|day)s?\)|cron\(([0-9A-Za-z*?,/#-]+ ){5}[0-9*,/-]+\))$/;

export const pipelineSchema = z.strictObject({
  name: pipelineName,
  settle: settleSchema.prefault({}),
  packing: packingSchema.prefault({}),
  training: trainingSchema,
  compute: computeSchema,
  limits: limitsSchema.prefault({}),
  schedule: z
    .string()
    .regex(
      SCHEDULE,
      'write rate(1 day) or cron(0 3 * * ? *): a rate in minutes, hours or days, or six fields',
    )
    .optional()
    .describe('Also start a run on this schedule (EventBridge Scheduler syntax, UTC).'),
  trainWithoutNewData: z
    .boolean()
    .default(false)
    .describe('Let a scheduled run train although nothing arrived.'),
});

export type Pipeline = z.infer<typeof pipelineSchema>;
export type PackingSettings = Pipeline['packing'];
