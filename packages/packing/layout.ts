/**
 * What a declaration makes of a folder of files before any of them is dropped.
 *
 * Called by `tidewheel init` and `check`.
 */
export { type UnpackedFiles, unpackedFiles } from './archives/archive-names.ts';
export { columnOf } from './documents/columns.ts';
export { INNER_SUFFIXES, isArchive, splitKey, unpackedKind } from './documents/member-names.ts';
export { type Counted, type DataLayout, dataLayout, type LocalKey } from './plan/data-layout.ts';
