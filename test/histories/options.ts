/** What the history of a seed is about. */

import type { OnDelete, PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { seededUint32 } from '@tidewheel/kit/seeded-random.ts';
import { settings } from '../support/builders/packing.ts';

const FORMATS = ['webdataset', 'tfrecord', 'mds', 'parquet'] as const;

/** What a seed's history is about. */
export interface Options {
  readonly packing: PackingSettings;
  readonly onDelete: OnDelete;
  /** Some files come in bundles. */
  readonly bundles: boolean;
  /** Some runs delete what they packed, and the declaration changes between runs. */
  readonly redeclares: boolean;
  /** Some suffixes are in upper case. */
  readonly cases: boolean;
  /** Some files are such as systems and tools leave. */
  readonly junk: boolean;
}

/** Half of the seeds have one. By group, the folder is the group. The shares are exact, so that every sum is 1. */
function splitOf(random: () => number): PackingSettings['split'] {
  if (random() % 2 === 0) return undefined;
  const train = 1 + (random() % 6);
  const shares = { train: train / 8, validation: 1 / 8, test: (7 - train) / 8 };
  return random() % 2 === 0 ? { ...shares, by: 'key' } : { ...shares, by: 'group', groupPattern: '^([01])/' };
}

export const ANNOTATIONS = { file: 'labels.csv', key: 'key', label: 'label' };

function widerOptions(random: () => number): Partial<PackingSettings> {
  return {
    ...(random() % 3 === 0 && { label: 'annotations', annotations: ANNOTATIONS }),
    ...(random() % 3 === 0 && { remainder: 'even', shardsMultipleOf: 2 }),
    ...(random() % 3 === 0 && { balance: 'over' }),
  };
}

/** In mds and parquet, all samples have the same columns. */
export function optionsOf(seed: number): Options {
  const random = seededUint32(`options ${seed}`);
  const wider = seededUint32(`wider options ${seed}`);
  const format = FORMATS[random() % FORMATS.length] ?? 'webdataset';
  const split = splitOf(random);
  const isPaired = random() % 2 === 0 || format === 'mds' || format === 'parquet';
  const packing = settings({
    format,
    shardMegabytes: 0.06,
    require: isPaired ? ['image', 'json'] : [],
    waitHours: 1e5,
    ...(split && { split }),
    ...widerOptions(wider),
  });
  const onDelete = random() % 2 === 0 ? 'keep' : 'retract';
  const [bundles, redeclares] = [random() % 2 === 0, random() % 2 === 0];
  // The model knows no deletion by a run of what it looked at only for a sibling.
  const cases = wider() % 2 === 0 && packing.label !== 'annotations' && !redeclares;
  const junk = wider() % 2 === 0;
  return { packing, onDelete, bundles, redeclares, cases, junk };
}
