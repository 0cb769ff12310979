/** Which version of a dataset a generation stands for. */
import type { Operations } from '../../client/operations.ts';

export type DatasetView = Operations['getDataset']['answer'];
type VersionView = DatasetView['versions'][number];

/** The version that the generation ended; undefined where it was pruned since, or is older than those that are shown. */
export function pinnable({ versions, generations }: DatasetView, name: string): VersionView | undefined {
  const pruned = new Set(generations.filter(({ state }) => state === 'pruned').map((each) => each.name));
  const ended = versions.findLast(
    ({ kind, changed }) => (kind === 'sealed' || kind === 'compacted') && changed.includes(name),
  );
  return ended?.generations.includes(name) && !ended.generations.some((each) => pruned.has(each))
    ? ended
    : undefined;
}

export const samplesOfGenerations = ({ generations }: DatasetView, names: readonly string[]): number =>
  generations.reduce((sum, { name, samples = 0 }) => (names.includes(name) ? sum + samples : sum), 0);
