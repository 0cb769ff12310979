/** Further data that a script reads beside its shards: the `channels` part of `training`. */

import { own } from '@tidewheel/kit/own-property.ts';
import { refusingProto } from '@tidewheel/kit/tables.ts';
import * as z from 'zod';
import { CURRENT_CHANNEL } from '../script/placeholders.ts';
import { prefixSchema } from './prefix.ts';

/** The service uses these: the agent finds the source in one, and the container finds the agent in the other. */
const RESERVED: Readonly<Record<string, string>> = {
  code: 'holds training.source: choose another name, or put the files into the source',
  agent: "holds Tidewheel's agent: choose another name",
  [CURRENT_CHANNEL]: 'holds the model in use for the evaluation: choose another name',
};

/** The names of SageMaker (https://docs.aws.amazon.com/sagemaker/latest/APIReference/API_Channel.html) that can be folders. */
const channelName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/,
    'begin with a letter or digit; use up to 64 of A-Z, a-z, 0-9, ., - and _',
  )
  .superRefine((name, context) => {
    const message = own(RESERVED, name);
    if (message !== undefined) context.addIssue({ code: 'custom', message });
  });

const directory = z
  .string()
  .max(4_096)
  .regex(/^\/[^\n]*$/, 'write a path from the root of the file system, such as /data')
  .refine((path) => !path.split('/').includes('..'), 'leave out ".."');

const fileSystemId = z.string().regex(/^fs-[0-9a-f]{8,18}$/, 'write fs- and 8 or more of 0-9 and a-f');
const access = z
  .enum(['ro', 'rw'])
  .default('ro')
  .describe('Whether the script may write there. Default: ro.');

/** FSx CreateFileSystem: no file system for Lustre of SSDs or HDDs is smaller. */
const LEAST_LUSTRE_GIGABYTES = 1_200;
const usdPerGigabyteMonth = z
  .number()
  .positive()
  .max(10)
  .optional()
  .describe('Its price, where it is not that of SCRATCH_2 or EFS Standard in us-east-1.');

const s3Channel = z.strictObject({
  s3: prefixSchema.describe(
    "A prefix under the pipeline's own folder, or s3://bucket/prefix/ among sharedPrefixes of the deployment.",
  ),
  inputMode: z
    .enum(['File', 'FastFile'])
    .default('File')
    .describe('Downloaded first, or streamed when read.'),
});

const lustreChannel = z.strictObject({
  fsxLustre: fileSystemId.describe('An FSx for Lustre file system in the zone of a declared subnet.'),
  directory: directory.describe("Begins with the file system's mount name, such as /1234abcd/images."),
  access,
  storageGigabytes: z
    .number()
    .min(LEAST_LUSTRE_GIGABYTES, 'FSx for Lustre has at least 1,200 GB')
    .optional()
    .describe('Its storage capacity: from it come its price in plans, placements and reports.'),
  usdPerGigabyteMonth,
});

const efsChannel = z.strictObject({
  efs: fileSystemId.describe('An EFS file system with a mount target in each declared subnet.'),
  directory: directory.default('/'),
  access,
  storageGigabytes: z
    .number()
    .positive()
    .optional()
    .describe('What it holds: from it come its price in plans, placements and reports.'),
  usdPerGigabyteMonth,
});

const OF_A_FILE_SYSTEM = ['storageGigabytes', 'usdPerGigabyteMonth'] as const;
type FileSystemChannel = z.infer<typeof lustreChannel> | z.infer<typeof efsChannel>;
type DeclaredChannels = Record<string, z.infer<typeof s3Channel> | FileSystemChannel>;

/** The script would find one of them under `SM_CHANNEL_<NAME>`, and no word of the other. */
function refuseSameVariable(channels: DeclaredChannels, context: z.RefinementCtx): void {
  const names = new Map<string, string>();
  for (const name of Object.keys(channels)) {
    const variable = `SM_CHANNEL_${name.toUpperCase()}`;
    const before = names.get(variable);
    names.set(variable, name);
    if (before === undefined) continue;
    const message = `has the variable ${variable}, as ${before} has: give it another name`;
    context.addIssue({ code: 'custom', path: [name], message });
  }
}

/** Two channels may read one file system, but it has one size and one price. */
function refuseContradictions(channels: DeclaredChannels, context: z.RefinementCtx): void {
  const first = new Map<string, { readonly name: string; readonly channel: FileSystemChannel }>();
  for (const [name, channel] of Object.entries(channels)) {
    if ('s3' in channel) continue;
    const id = 'efs' in channel ? channel.efs : channel.fsxLustre;
    for (const field of OF_A_FILE_SYSTEM) {
      const value = channel[field];
      if (value === undefined) continue;
      const key = `${id} ${field}`;
      const before = first.get(key) ?? { name, channel };
      first.set(key, before);
      if (before.channel[field] === value) continue;
      const message = `is ${value} here and ${before.channel[field]} in channel ${before.name}, of one file system (${id}): declare it once`;
      context.addIssue({ code: 'custom', path: [name, field], message });
    }
  }
}

export const inputChannelsSchema = refusingProto(
  z
    .record(channelName, z.union([s3Channel, lustreChannel, efsChannel]))
    .refine((all) => Object.keys(all).length <= 8, 'at most 8 channels')
    .superRefine(refuseContradictions)
    .superRefine(refuseSameVariable)
    .describe('Further data by channel name: the script finds each under SM_CHANNEL_<NAME>.'),
);

type InputChannels = z.infer<typeof inputChannelsSchema>;
export type InputChannel = InputChannels[string];
