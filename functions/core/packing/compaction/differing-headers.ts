/** Generations of CSV sources whose headers differ: their rows cannot lie under one header. */
import { quoted } from '@tidewheel/kit/quoted.ts';
import { headerDifference, shownHeader } from '../formats/csv-header.ts';
import type { BlobStore } from '../model/blob-store.ts';
import type { Manifest } from '../model/manifest.ts';
import { memberLines } from '../model/member-lines.ts';
import { packingKeys } from '../model/packing-keys.ts';

/** The header line of its sources, in its shards or not. */
const headerOf = ({ schema }: Pick<Manifest, 'schema'>): string | undefined =>
  schema.csvHeader ?? schema.droppedHeader;

/** Earlier releases kept no header that they dropped: it counts as the same. */
export function withHeaderOf(one: Manifest, { schema }: Pick<Manifest, 'schema'>): Manifest {
  const { droppedHeader } = schema;
  return droppedHeader === undefined || one.schema.kind !== 'csv' || headerOf(one) !== undefined
    ? one
    : { ...one, schema: { ...one.schema, droppedHeader } };
}

/** What a person has to know of the first one whose header differs; undefined if none does. */
export async function headersDiffer(
  store: BlobStore,
  others: readonly Manifest[],
  newest: Manifest,
): Promise<string | undefined> {
  const mine = headerOf(newest);
  const other = others.find((one) => headerOf(one) !== undefined && headerOf(one) !== mine);
  const theirs = other && headerOf(other);
  if (mine === undefined || other === undefined || theirs === undefined) return undefined;
  const { pipeline, generation } = newest;
  const keys = packingKeys(pipeline, generation);
  const [shard] = newest.shards;
  const [line] = shard === undefined ? [] : await memberLines(store, keys, shard);
  return (
    `the header of ${quoted(line?.key ?? generation)} is ${shownHeader(mine)}, and that of ${other.generation}, ` +
    `in which ${generation} replaces samples, is ${shownHeader(theirs)}: ${headerDifference(mine, theirs)}. ` +
    `Run ${keys.repair} --give-up, and drop the files of ${generation} again with the header of ${other.generation}; ` +
    'or declare dataset.onChange: keep to train on both'
  );
}
