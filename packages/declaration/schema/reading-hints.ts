/** Valid settings of a declaration that the usual reader of its format cannot read. */
import type { Pipeline } from './pipeline.ts';

/** Of the formats whose usual reader was tried on a Pipe and failed (docs/datasets.md, "Pipe"). */
const READERS: Readonly<Partial<Record<Pipeline['packing']['format'], string>>> = {
  webdataset:
    'the webdataset package takes the end of the first shard for the end of the Pipe and trains on that alone, without an error: read it with tidewheel.pipes.tar_samples',
  tfrecord: 'tf.data seeks, which a Pipe cannot: read the records with tidewheel.pipes.tfrecords',
};

/** Sentences; empty where nothing is known to go wrong. */
export function readingHints({
  packing,
  training,
}: Pick<Pipeline, 'packing' | 'training'>): readonly string[] {
  const reader = READERS[packing.format];
  if (training.inputMode !== 'Pipe' || reader === undefined) return [];
  return [`training.inputMode Pipe with packing.format ${packing.format}: ${reader}; or choose FastFile`];
}
