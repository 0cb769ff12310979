/**
 * Archives under `incoming/`: those that are not unpacked yet, before whose end no batch is closed, and what becomes of
 * each.
 */

import { hash } from 'node:crypto';
import { belowIncoming, bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import type { ListedObject, ObjectStore } from '@tidewheel/kit/object-store.ts';
import { shownKey } from '@tidewheel/kit/quoted.ts';
import {
  type ArchiveNote,
  type ArchiveObject,
  archiveFolder,
  archiveNoteKeys,
  archiveObjectSchema,
  forgetArchive,
  isUnpackedBy,
  keysApart,
  unpackArchive,
} from '@tidewheel/packing/bundles.ts';
import { isArchive } from '@tidewheel/packing/layout.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import * as z from 'zod';
import type { Stores } from '../../records/stores.ts';

export const archiveWorkSchema = z.object({
  archives: z.array(archiveObjectSchema),
  /** Folders of notes of archives that their owner has deleted. */
  gone: z.array(z.string()),
  /** Keys that must be objects of their own. */
  apart: z.array(z.string()),
  shuffle: z.boolean(),
});
/** It travels through the state machine, which takes 256 KiB. */
export type ArchiveWork = Readonly<z.infer<typeof archiveWorkSchema>>;

const MOST_AT_ONCE = 50;

/** Notes the archives of a listing that passes. */
export class ListedArchives {
  readonly #pipeline: Pipeline;
  readonly #all: ArchiveObject[] = [];

  constructor(pipeline: Pipeline) {
    this.#pipeline = pipeline;
  }

  async *seen(listing: AsyncIterable<ListedObject>): AsyncGenerator<ListedObject> {
    for await (const object of listing) {
      const { key, etag, size, lastModified } = object;
      if (isArchive(key)) this.#all.push({ key, etag, size, lastModified: lastModified.toISOString() });
      yield object;
    }
  }

  /** Undefined where nothing is to be done. */
  async waiting(store: Pick<ObjectStore, 'list'>): Promise<ArchiveWork | undefined> {
    const { name, packing, dataset } = this.#pipeline;
    if (packing.archives !== 'unpack') return undefined;
    const notes = new Set<string>();
    for await (const { key } of store.list(bucketKeys.archives(name))) notes.add(key);
    const isUnpacked = isUnpackedBy(name, packing);
    const archives = this.#all.filter((archive) => {
      const { begun, ended } = archiveNoteKeys(name, archive);
      return isUnpacked(archive.key) && (notes.has(begun) || !notes.has(ended));
    });
    const listed = new Set(this.#all.map(({ key }) => archiveFolder(name, key)));
    const folders = new Set([...notes].map((key) => key.slice(0, key.lastIndexOf('/') + 1)));
    const gone = dataset?.onDelete === 'retract' ? [...folders].filter((one) => !listed.has(one)) : [];
    if (archives.length + gone.length === 0) return undefined;
    return {
      archives: archives.slice(0, MOST_AT_ONCE),
      gone: gone.slice(0, MOST_AT_ONCE),
      apart: [...keysApart(packing)],
      shuffle: packing.shuffle,
    };
  }
}

interface UnpackDeps extends Pick<Stores, 'timeline'> {
  readonly store: BlobStore;
  readonly clock: Clock;
}

/** After it, none is begun: each may take nearly all of the function's time. */
const BEGINS_WITHIN_SECONDS = 60;

/** One after the other, as far as the time allows: the next look at `incoming/` finds the rest. @returns how many archives came to an end */
export async function unpackArchives(
  { store, timeline, clock }: UnpackDeps,
  { runId, pipeline }: { readonly runId: string; readonly pipeline: string },
  { archives, gone, apart, shuffle }: ArchiveWork,
): Promise<number> {
  const now = (): number => clock.now().getTime();
  const until = now() + BEGINS_WITHIN_SECONDS * 1_000;
  for (const folder of gone) await forgetArchive(store, pipeline, folder);
  let ended = 0;
  for (const archive of archives) {
    if (now() >= until) break;
    const note = await unpackArchive({ store, now }, { pipeline, apart, shuffle }, archive);
    if (note === undefined) continue;
    ended += 1;
    await timeline.add(runId, {
      id: `archive-${hash('sha256', `${note.key} ${note.etag}`).slice(0, 16)}`,
      at: clock.now().toISOString(),
      kind: note.state === 'unpacked' ? 'ArchiveUnpacked' : 'ArchiveRefused',
      text: textOf(pipeline, note),
    });
  }
  return ended;
}

function textOf(pipeline: string, { key, files, why }: ArchiveNote): string {
  const shown = shownKey(belowIncoming(pipeline, key));
  return why === undefined
    ? `${shown} unpacked: ${files} file${files === 1 ? '' : 's'}`
    : `${shown} is not unpacked: ${why}`;
}
