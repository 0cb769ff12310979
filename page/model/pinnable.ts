/** Which version of a dataset a generation stands for. */
import type { AnswerOf } from '../../client/operations.ts';

export type DatasetView = AnswerOf<'getDataset'>;

/** The version that the generation ended; undefined where it was pruned since, or is older than those that are shown. */
export function pinnable({ versions, generations }: DatasetView, name: string) {
  const ended = versions.findLast(
    ({ kind, changed }) => (kind === 'sealed' || kind === 'compacted') && changed.includes(name),
  );
  const parts = generations.filter((each) => ended?.generations.includes(each.name));
  if (!ended?.generations.includes(name) || parts.some(({ state }) => state === 'pruned')) return undefined;
  return { ...ended, samples: parts.reduce((sum, { samples = 0 }) => sum + samples, 0) };
}
