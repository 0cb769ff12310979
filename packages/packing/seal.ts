/**
 * Makes packed shards a generation, whole or not at all.
 *
 * Out: the generation and what was rejected. Errors: ShardMissingError. Called by `seal-dataset`.
 */

export { ShardMissingError } from './seal/committed-shards.ts';
export { type SealResult, sealDataset } from './seal/seal-dataset.ts';
export { spotCheck } from './verify/verify.ts';
