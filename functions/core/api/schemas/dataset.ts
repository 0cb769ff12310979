/** What the API says of datasets: versions, generations, their classes, what was rejected, and single images. */
import * as z from 'zod';
import { list, time } from '../../shared/fields.ts';

const datasetVersion = z.object({
  number: z.number().int(),
  kind: z.enum(['sealed', 'compacted', 'pruned', 'restored']),
  changed: list(z.string()).describe('The generations that the change is about.'),
  generations: list(z.string()).describe('What the version is made of, oldest first.'),
});

const generation = z.object({
  name: z.string(),
  state: z
    .enum(['sealed', 'replaced', 'pruned', 'rejectionsOnly', 'damaged'])
    .describe('damaged: its manifest cannot be read.'),
  problem: z.string().optional().describe('Why it is damaged.'),
  listedAt: time.optional(),
  format: z.string().optional(),
  shards: z.number().int().optional(),
  samples: z.number().int().optional(),
  repeated: z
    .number()
    .int()
    .optional()
    .describe('Copies among the samples, which even out counts or classes.'),
  bytes: z.number().int().optional(),
  packed: z.number().int().optional().describe('Arrivals that its shards hold.'),
  rejected: z.number().int().optional(),
});

export const datasetAnswer = z.object({
  pinned: z.string().optional().describe('The generation that the declaration pins.'),
  newest: z
    .number()
    .int()
    .optional()
    .describe('Number of the newest version; absent while nothing is sealed.'),
  versions: list(datasetVersion).describe('Newest first, at most 100.'),
  generations: list(generation).describe('Newest first.'),
});

export const pinBody = z.strictObject({
  generation: z.string().nullable().describe('Such as digits-000003; null takes the pin out.'),
});

export const pinAnswer = z.object({
  name: z.string(),
  pinned: z.string().optional(),
  generations: list(z.string()).describe(
    'What runs that close from now on train on; without a pin, beside what they pack themselves.',
  ),
});

const classCount = z.object({
  label: z.string(),
  arrived: z.number().int().describe('Samples that came.'),
  sealed: z.number().int().describe('Samples in the shards, copies counted.'),
});

export const generationAnswer = z.object({
  generation,
  classes: list(classCount).describe('Empty where the declaration balances no classes.'),
  rejectedByReason: z.record(z.string(), z.number().int()).readonly(),
  rejected: list(z.object({ key: z.string(), reason: z.string() })).describe('At most 100 examples.'),
  samples: list(
    z.object({
      shard: z.string(),
      member: z.string(),
      key: z.string().optional().describe('The object that it was packed from.'),
      bytes: z.number().int(),
      label: z.string().optional(),
    }),
  ).describe('The first members of the first shard.'),
});

export const imageQuery = z.strictObject({
  shard: z.string().optional().describe('With member: a member of a shard, read by its range.'),
  member: z.string().optional(),
  rejected: z.string().optional().describe('Instead: the key of a rejected example.'),
});

export const imageAnswer = z.object({
  type: z.enum(['image/png', 'image/jpeg', 'image/gif', 'image/webp']),
  base64: z.string(),
});
