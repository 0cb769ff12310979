/**
 * The part of a declaration that packing reads: formats, splits, holds and preparation.
 *
 * Called by packing and by what explains it to people.
 */
export { packingSchema } from './schema/packing.ts';
export {
  type HoldSettings,
  holdOf,
  type ImageSettings,
  joinSchema,
  rejectedTexts,
  shareOf,
} from './schema/packing-parts.ts';
export {
  DEFAULT_FORMAT,
  FORMAT_NAMES,
  type FormatName,
  formatNameSchema,
  isUnpacked,
  SHARD_FORMATS,
} from './schema/shard-formats.ts';
export {
  isGivenSplit,
  namesOf,
  partsOf,
  SPLITS,
  type SplitName,
  type SplitSettings,
  splitSchema,
} from './schema/splits.ts';
