/** `packing: none`. Its generations have no shard, so nothing writes, joins or indexes one. */
import type { NoFormat } from '../documents/shard-format.ts';

const noShard = (): never => {
  throw new Error('packing: none has no shard');
};

export const none: NoFormat = {
  takes: 'nothing',
  suffix: noShard,
  plannedBytes: (_name, size) => size,
  encoder: noShard,
  schema: () => ({}),
  join: { by: 'rows' },
};
