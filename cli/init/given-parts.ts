/** Parts that the data gives: folders, names and lists for training, validation and test. A guess. */
import type { SplitName } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { INNER_SUFFIXES, splitKey } from '@tidewheel/packing/layout.ts';
import { beginningOf, columnsWith, TABLE, type TableReader } from './label-tables.ts';

const PARTS: readonly (readonly [SplitName, RegExp])[] = [
  ['train', /^(train|training|trn|trainval)$/i],
  ['validation', /^(val|valid|validation|dev|eval|evaluation)$/i],
  ['test', /^(test|testing|holdout)$/i],
];
/** What may stand beside the word: a year, a number of pieces, what is in it. */
const BESIDE_PART =
  /^split=|[-_]\d+-of-\d+$|[-_]?(clean|other|images?|imgs?|frames|data|set|list)?[-_]?\d*$/gi;

export const partOf = (name: string): SplitName | undefined =>
  PARTS.find(([, pattern]) => pattern.test(name.replace(BESIDE_PART, '')))?.[0];

/** A part inside a name, as in 20news-bydate-train, trainA or X_train.npy: what is beside it tells names of a kind. */
const WITHIN =
  /(?<![A-Za-z])([Tt]rain(?:ing)?|TRAIN|[Vv]al(?:id(?:ation)?)?|VAL|[Dd]ev|[Tt]est(?:ing)?|TEST)(?![a-z])/;

const partInside = (name: string): SplitName | undefined => partOf(WITHIN.exec(name)?.[0] ?? '');

/** Names that say their part, or that differ from others by a part alone. */
function partsByName(names: Iterable<string>): ReadonlyMap<string, SplitName> {
  const parts = [...new Set(names)].map((name) => ({
    name,
    part: partOf(name.replace(/\.[a-z0-9]{1,10}$/i, '')),
  }));
  const inside = parts.flatMap(({ name, part }) =>
    part === undefined ? { name, part: partInside(name) } : [],
  );
  const alike = [...Map.groupBy(inside, ({ name }) => name.replace(WITHIN, '*')).values()].filter((group) =>
    isDistinctSplit(new Map(group.map(({ part }) => [part, true]))),
  );
  return new Map(
    [...parts, ...alike.flat()].flatMap(({ name, part }) =>
      part === undefined ? [] : [[name, part] as const],
    ),
  );
}

const isDistinctSplit = (found: ReadonlyMap<SplitName | undefined, unknown>): boolean =>
  found.has('train') && found.size > 1;

type Names = Map<SplitName, string[]>;

function noteName(found: Names, part: SplitName, name: string): void {
  const names = found.get(part) ?? [];
  if (!names.includes(name)) names.push(name);
  found.set(part, names);
}

const splitOf = (found: Names, by: 'folder' | 'list'): NonNullable<PackingSettings['split']> => ({
  by,
  ...(found.has('train') && { train: found.get('train') }),
  ...(found.has('validation') && { validation: found.get('validation') }),
  ...(found.has('test') && { test: found.get('test') }),
});

const MOST_NAMES = 50;

/** Folders, or whole files, that are named for a split and hold most of the data. */
export function splitByFolders(paths: readonly string[]): PackingSettings['split'] {
  const found: Names = new Map();
  const folders = partsByName(paths.flatMap((path) => path.split('/').slice(0, -1)));
  const files = paths.map(lastOf);
  const parts = new Map([...(new Set(files).size <= MOST_NAMES ? partsByName(files) : []), ...folders]);
  let inside = 0;
  for (const path of paths) {
    const name = path.split('/').find((one) => parts.has(one));
    const part = name === undefined ? undefined : parts.get(name);
    if (name === undefined || part === undefined) continue;
    inside += 1;
    noteName(found, part, name);
  }
  const isFew = [...found.values()].every(({ length }) => length <= MOST_NAMES);
  return isFew && isDistinctSplit(found) && inside * 2 > paths.length ? splitOf(found, 'folder') : undefined;
}

const stemOf = (path: string): string => splitKey(path, INNER_SUFFIXES).stem;
export const lastOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);

/** Text files named for a split, most of whose lines name a file of the data. */
export async function splitByLists(
  paths: readonly string[],
  store: TableReader,
): Promise<PackingSettings['split']> {
  const known = new Set(paths.flatMap((path) => [lastOf(path), lastOf(stemOf(path))]));
  const found: Names = new Map();
  for (const path of paths) {
    const part = partOf(lastOf(path).replace(/\.(txt|lst)$/i, ''));
    if (part === undefined || !/\.(txt|lst)$/i.test(path)) continue;
    const lines = (await beginningOf(store, path)).split(/\r?\n/).filter((line) => line.trim() !== '');
    const naming = lines.filter((line) => known.has(lastOf(line.trim().split(/[\s,;]/)[0] ?? '')));
    // Of several lists of a part, each is another way to split.
    if (lines.length > 0 && naming.length * 2 > lines.length && !found.has(part)) noteName(found, part, path);
  }
  // Without a list of its own, what no list names trains.
  return found.size > (found.has('train') ? 1 : 0) ? splitOf(found, 'list') : undefined;
}

export const isPart = (name: string): boolean => partOf(name) !== undefined || partInside(name) !== undefined;

const WRITE_LISTS =
  'write the names of each part into a text file, one a line, and declare packing.split by: list';

/** What tells parts apart and is no split that can be declared, with what to do. */
export async function undeclaredParts(
  data: readonly string[],
  samples: readonly string[],
  store: TableReader,
  { split }: Partial<Pick<PackingSettings, 'split'>>,
): Promise<readonly string[]> {
  const tables = data.filter((path) => TABLE.test(path));
  if (split !== undefined || tables.length === data.length) return [];
  const named = namedForParts(tables);
  const kinds = namedForParts(samples);
  return [
    ...(named.length === 0
      ? []
      : [
          `${named.map((one) => JSON.stringify(one)).join(', ')} seem to be tables of parts, and all files would train: ${WRITE_LISTS}`,
        ]),
    ...(kinds.length * 2 <= data.length
      ? []
      : [
          `names say a part, such as ${JSON.stringify(kinds[0] ?? '')}, and all files would train: ${WRITE_LISTS}`,
        ]),
    ...(await columnsOfParts(tables, store)),
  ];
}

/** Paths whose names, but for numbers, differ from others by a part. */
function namedForParts(paths: readonly string[]): readonly string[] {
  const kindOf = (path: string): string => lastOf(path).replace(/\d+/g, '0');
  const kinds = new Set(paths.map(kindOf));
  const parts = kinds.size > MOST_NAMES ? new Map<string, SplitName>() : partsByName(kinds);
  const isSplit = isDistinctSplit(new Map([...parts].map(([, part]) => [part, true])));
  return isSplit ? paths.filter((path) => parts.has(kindOf(path))) : [];
}

const areParts = (parts: readonly SplitName[], of: number): boolean =>
  parts.length * 2 > of && isDistinctSplit(new Map(parts.map((part) => [part, true])));

async function columnsOfParts(tables: readonly string[], store: TableReader): Promise<string[]> {
  const found = await columnsWith(tables, store, (values) =>
    areParts(
      values.flatMap((value) => partOf(value) ?? []),
      values.length,
    ),
  );
  return found.map(
    ({ file, column }) =>
      `${JSON.stringify(file)} gives parts in ${JSON.stringify(column)}, and all files would train: ${WRITE_LISTS}`,
  );
}
