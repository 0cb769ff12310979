/** What all shards of a plan have in common: their columns, and the header line of CSV sources. */

import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import { readArrival } from '../arrivals/read-arrival.ts';
import { type BlobStore, joinChunks, type ListedBlob } from '../documents/blob-store.ts';
import type { Plan } from '../documents/documents.ts';
import { type FileFormat, HEAD_BYTES } from '../documents/shard-format.ts';
import { formatOf } from '../formats/formats.ts';
import type { DraftPlan } from './draft-plan.ts';

function sharedHeader(packing: PackingSettings): FileFormat['header'] {
  const format = formatOf(packing);
  const header = format.takes === 'files' ? format.header : undefined;
  return header?.isShared(packing) === true ? header : undefined;
}

/** Whether the shards hold the sources without their headers. */
export const sharesHeader = (packing: PackingSettings): boolean => sharedHeader(packing) !== undefined;

const NO_HEADER = '\n';

/** @throws TransientError if the object with the header changed */
export async function sourceSchemaOf(
  store: BlobStore,
  packing: PackingSettings,
  draft: DraftPlan,
): Promise<Plan['sourceSchema']> {
  const columns = draft.columns();
  const header = sharedHeader(packing);
  if (header === undefined) return { columns };
  let isAnyRead = false;
  for (const first of draft.first) {
    const head = await headOf(store, first);
    isAnyRead ||= head !== undefined;
    const csvHeader = head && header.of(head);
    if (csvHeader !== undefined) return { columns, csvHeader };
  }
  // Without a header each source would be packed with its own.
  return isAnyRead ? { columns, csvHeader: NO_HEADER } : { columns };
}

/** Undefined if the store refuses the object. */
async function headOf(store: BlobStore, first: ListedBlob): Promise<Uint8Array | undefined> {
  const found = await readArrival(store, first, HEAD_BYTES);
  if (found.kind === 'unreadable') return undefined;
  // Without the header, all sources would be rejected for having another one.
  if (found.kind !== 'found')
    throw new TransientError(`${first.key} changed while the run was planned; the next try lists again`);
  return joinChunks(found.chunks);
}
