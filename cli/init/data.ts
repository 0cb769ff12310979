/** What lies in a folder of data, by its names. */

export interface DataFacts {
  /** Relative to the project's folder, with slashes. */
  readonly folder: string;
  readonly files: number;
  readonly kind: 'images' | 'files' | 'text';
  /** The suffixes of most files, with their dots. */
  readonly suffixes: readonly string[];
  /** Those of all other files, which a script that reads the folder may need. */
  readonly otherSuffixes: readonly string[];
  /** Names of the folders that hold files, if these are labels. */
  readonly labels: readonly string[];
}

const IMAGES = ['.png', '.jpg', '.jpeg', '.webp', '.gif', '.bmp', '.tif', '.tiff'];
const LINES = ['.csv', '.jsonl', '.ndjson', '.txt'];
const OTHERS = ['.wav', '.flac', '.mp3', '.npy', '.npz', '.parquet', '.json', '.mp4'];
const DATA = [...IMAGES, ...LINES, ...OTHERS];
/** A suffix of fewer files than this share is no part of the data. */
const LEAST_SHARE = 0.01;

/** @param paths relative to the folder, with slashes. @returns undefined where there is no data */
export function dataIn(folder: string, paths: readonly string[]): DataFacts | undefined {
  const counts = new Map<string, number>();
  for (const path of paths) {
    const suffix = suffixOf(path);
    if (DATA.includes(suffix.toLowerCase())) counts.set(suffix, (counts.get(suffix) ?? 0) + 1);
  }
  const files = [...counts.values()].reduce((sum, count) => sum + count, 0);
  if (files === 0) return undefined;
  const suffixes = [...counts]
    .filter(([, count]) => count / files >= LEAST_SHARE)
    .toSorted(([, one], [, other]) => other - one)
    .map(([suffix]) => suffix);
  const are = (known: readonly string[]) => suffixes.every((suffix) => known.includes(suffix.toLowerCase()));
  return {
    folder,
    files,
    kind: are(IMAGES) ? 'images' : are(LINES) ? 'text' : 'files',
    suffixes,
    otherSuffixes: [...new Set(paths.map(suffixOf))].filter((one) => one !== '' && !suffixes.includes(one)),
    labels: labelsOf(paths.filter((path) => suffixes.some((suffix) => path.endsWith(suffix)))),
  };
}

const suffixOf = (path: string): string => /\.[A-Za-z0-9]{1,20}$/.exec(path)?.[0] ?? '';

/** The parent folders, if every file has one and there are several. */
function labelsOf(paths: readonly string[]): string[] {
  const parents = new Set(paths.map((path) => path.split('/').at(-2) ?? ''));
  return parents.has('') || parents.size < 2 ? [] : [...parents].toSorted();
}
