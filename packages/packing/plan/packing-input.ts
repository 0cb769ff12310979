/** What packing sees of a run and of its declaration. */
import {
  type DatasetSettings,
  datasetSettings,
  type OnChange,
  type OnDelete,
  type PackingSettings,
} from '@tidewheel/declaration/pipeline.ts';
import type { LikelyReaders } from '../documents/shard-count.ts';

export interface PackingInput {
  readonly runId: string;
  readonly pipeline: string;
  readonly packing: PackingSettings;
  readonly dataset: DatasetSettings;
  readonly onChange: OnChange;
  readonly onDelete: OnDelete;
  /** Without them, only the declaration and the size decide the number of shards. */
  readonly readers: LikelyReaders;
  /** Name of the object that closes a batch. It is not data. */
  readonly settleMarker: string | undefined;
  /** The run lists only around the keys of notifications, where those noted since this time are known to be all. */
  readonly notifiedSince: string | undefined;
}

interface PackedRun {
  readonly runId: string;
  readonly pipeline: string;
  readonly notifiedSince?: string | undefined;
}

interface Declared {
  readonly packing: PackingSettings;
  readonly dataset?: DatasetSettings | undefined;
  readonly settle: { readonly marker?: string | undefined };
}

export function packingInput(
  { runId, pipeline, notifiedSince }: PackedRun,
  { packing, dataset: declared, settle }: Declared,
  readers: LikelyReaders,
): PackingInput {
  const dataset = datasetSettings(declared);
  const { onChange, onDelete } = dataset;
  const settleMarker = settle.marker;
  return { runId, pipeline, packing, dataset, onChange, onDelete, readers, settleMarker, notifiedSince };
}
