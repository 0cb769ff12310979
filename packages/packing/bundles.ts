/**
 * Many small files in one object, and the names of what lies in it; archives, whose files become so.
 *
 * Called by `tidewheel drop` and `data retract`, the API, and the functions that close a batch and unpack.
 */
export {
  type ArchiveNote,
  type ArchiveObject,
  archiveFolder,
  archiveNoteKeys,
  archiveObjectSchema,
  isUnpackedBy,
} from './archives/archive-notes.ts';
export { forgetArchive, retractArchive, unpackArchive } from './archives/unpack-archive.ts';
export { type BundledFile, isAllowed, makeBundle } from './arrivals/bundle-index.ts';
export { inBundleOrder, keysApart } from './arrivals/bundle-order.ts';
export { bundleDataKey, bundleKeys, bundlePlace, MOST_MEMBER_BYTES } from './arrivals/bundle-place.ts';
export { splitKey } from './documents/member-names.ts';
export { compareKeys } from './documents/order.ts';
export { labelOfKey } from './documents/sample-names.ts';
