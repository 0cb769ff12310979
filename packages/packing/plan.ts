/**
 * From arrivals to a plan of shards, or a preview of one.
 *
 * In: the store, what a pipeline declares, and earlier generations. Out: lists of items in the bucket. Errors: TooManyArrivalsError
 * for a preview; damaged documents throw DocumentError. Called by `plan-shards`, plans, checks and `tidewheel drop`.
 */

export type { LikelyReaders } from './documents/shard-count.ts';
export { checkFitsDataset } from './plan/before-listing.ts';
export { type PackingInput, packingInput } from './plan/packing-input.ts';
export { listInParallel } from './plan/parallel-listing.ts';
export {
  type PackingPreview,
  planShards,
  previewOfSize,
  previewPlan,
  TooManyArrivalsError,
} from './plan/plan-shards.ts';
