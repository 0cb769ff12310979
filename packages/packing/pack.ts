/**
 * Packs one item of a plan into one or more shards.
 *
 * Errors are classes that the state machine retries or not. Called by `pack-shards`.
 */
export { KeptMemory, type PackItemDeps, packItem } from './shard/pack-item.ts';
