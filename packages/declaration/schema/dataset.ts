/** Which version of the dataset trains, and when generations are joined: the `dataset` part of a declaration. */

import { besideOthers } from '@tidewheel/kit/validation.ts';
import * as z from 'zod';
import { percentSchema, shareOf } from './packing-parts.ts';

const READ = 'write all, new, or { new: all, replay: 20 % }';
const readSchema = z
  .union(
    [
      z.enum(['all', 'new']),
      z.strictObject({
        new: z.literal('all').describe('Every sample that the model has not seen.'),
        replay: percentSchema.describe('A share of the samples that it has seen, drawn for each run.'),
      }),
    ],
    READ,
  )
  .optional()
  .describe(
    'new: a run that begins from a model trains on what was packed since the run of that model. With replay: and on a share of the earlier samples.',
  )
  .meta({ default: 'all' });

export const datasetSchema = z
  .strictObject({
    pin: z
      .string()
      .regex(/^[a-z0-9][a-z0-9-]*-\d{6,}(-c[0-9a-f]{8})?$/, 'name a generation such as digits-000003')
      .optional()
      .describe('Train on the version that ends with this generation, whatever is packed later.'),
    compactAfter: z
      .union(
        [z.literal('never'), z.number().int().min(2).max(1_000)],
        'write a number from 2 to 1000, or never',
      )
      .default(10)
      .describe(
        'Join small generations into a large one when there are so many; a generation is small when its shards are on average less than half as large as shardMegabytes.',
      ),
    onChange: z
      .enum(['replace', 'keep'])
      .default('replace')
      .describe(
        'replace: a sample whose object was overwritten is trained on in its newest version only. keep: every version stays a sample of its own.',
      ),
    onDelete: z
      .enum(['keep', 'retract'])
      .default('keep')
      .describe(
        'retract: a sample leaves the next version when one of its objects is deleted from incoming/, and what is left of it is packed as if it had just arrived. keep: it stays.',
      ),
    read: readSchema,
    keep: z
      .literal('versions')
      .optional()
      .describe(
        'With packing: none, each seal copies its new files within the bucket, so that a version can be trained on after its files changed. Default: they lie under incoming/ alone.',
      ),
  })
  .refine(({ onChange, onDelete }) => onDelete !== 'retract' || onChange === 'replace', {
    ...besideOthers,
    path: ['onDelete'],
    message:
      'retract needs onChange: replace, because every version of a kept object would have to go: write onChange: replace, or onDelete: keep',
  })
  .describe('A version of the dataset is named by its last generation.');

export type DatasetSettings = z.output<typeof datasetSchema>;
export type OnChange = DatasetSettings['onChange'];
export type OnDelete = DatasetSettings['onDelete'];

/** The settings of a declaration; the defaults where it has none. */
export const datasetSettings = (dataset: DatasetSettings | undefined): DatasetSettings =>
  dataset ?? datasetSchema.parse({});

/** @returns the share of earlier samples that a run draws; undefined where it trains on all of them */
export function replayOf({ read = 'all' }: Pick<DatasetSettings, 'read'> = {}): number | undefined {
  if (read === 'all') return undefined;
  return read === 'new' ? 0 : shareOf(read.replay);
}

interface Declared {
  readonly packing?: { readonly whenDone?: unknown } | undefined;
  readonly dataset?: { readonly onDelete?: unknown; readonly read?: unknown } | undefined;
}

/** Reads what other rules have refused too, so a field may be of any type. */
export const deletionProblems = ({ packing, dataset }: Declared) =>
  packing?.whenDone === 'delete' && dataset?.onDelete === 'retract'
    ? [
        {
          path: ['dataset', 'onDelete'],
          message:
            'retract and packing.whenDone: delete exclude each other, because the service would delete what it packed, and then take it out of the dataset: write whenDone: keep, or onDelete: keep',
        },
      ]
    : [];
