/**
 * The sample that a key belongs to, and the parts of its path that say something else: a folder of `packing.join` names
 * a column, and one of `packing.split` a split, so neither is a class.
 */
import { namesOf, SPLITS, type SplitName } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { boundedSearch } from '@tidewheel/kit/bounded-search.ts';
import { columnOf } from './columns.ts';
import { memberSuffix, type SplitKey, splitKey } from './member-names.ts';

/** What decides which keys are one sample. */
export type Naming = Partial<Pick<PackingSettings, 'innerSuffixes' | 'join'>>;

type Join = NonNullable<PackingSettings['join']>;

/** For `masks/*_mask`: the folder with its slash, and the end of the name. */
interface JoinRule {
  readonly column: string;
  readonly folder: string;
  readonly ending: string;
}

/** By declaration. Those that say more come first, so that `*_mask` is found before `*`. */
const rules = new WeakMap<Join, readonly JoinRule[]>();

function rulesOf(join: Join): readonly JoinRule[] {
  const known = rules.get(join);
  if (known !== undefined) return known;
  const made = Object.entries(join)
    .map(([column, pattern]) => {
      const star = pattern.indexOf('*');
      return { column, folder: pattern.slice(0, star), ending: pattern.slice(star + 1) };
    })
    .toSorted((a, b) => b.folder.length + b.ending.length - a.folder.length - a.ending.length);
  rules.set(join, made);
  return made;
}

/** The place of a folder in a path, at any depth; -1 if it is not in it. */
function placeOf(path: string, folder: string): number {
  if (path.startsWith(folder)) return 0;
  const at = path.indexOf(`/${folder}`);
  return at < 0 ? -1 : at + 1;
}

interface Joined {
  readonly column: string;
  /** The path without the folder and the end of the name. */
  readonly name: string;
}

function joinedIn(stem: string, join: Join): Joined | undefined {
  for (const { column, folder, ending } of rulesOf(join)) {
    const at = folder === '' ? 0 : placeOf(stem, folder);
    if (at < 0 || !stem.endsWith(ending)) continue;
    const name = stem.slice(0, at) + stem.slice(at + folder.length, stem.length - ending.length);
    if (name !== '' && !name.endsWith('/')) return { column, name };
  }
  return undefined;
}

/** The sample of a key (without the incoming prefix), and the member's suffix, which gives its column. */
export function sampleKey(key: string, { innerSuffixes, join }: Naming): SplitKey {
  const split = splitKey(key, innerSuffixes);
  const joined = join && joinedIn(split.stem, join);
  if (joined === undefined) return split;
  const { column, name } = joined;
  const suffix =
    columnOf(memberSuffix(split.suffix)) === column || split.suffix === ''
      ? split.suffix || column
      : `${column}.${split.suffix}`;
  return { stem: name, suffix };
}

interface NamedPart {
  readonly split: SplitName;
  /** In the key with a slash before it; of the slash before the name. */
  readonly at: number;
  readonly length: number;
}

/** The outermost named folder of a given split in a key, or its whole file name. */
function splitPart(key: string, split: NonNullable<PackingSettings['split']>): NamedPart | undefined {
  let found: NamedPart | undefined;
  const path = `/${key}/`;
  for (const name of SPLITS)
    for (const folder of namesOf(split, name)) {
      const at = path.indexOf(`/${folder}/`);
      if (at >= 0 && (found === undefined || at < found.at))
        found = { split: name, at, length: folder.length + 1 };
    }
  return found;
}

/** For `by: folder`. @param key without the incoming prefix */
export const splitByFolder = (
  key: string,
  split: NonNullable<PackingSettings['split']>,
): SplitName | undefined => splitPart(key, split)?.split;

const withoutPart = (key: string, { at, length }: NamedPart): string =>
  `${`/${key}`.slice(0, at)}${`/${key}`.slice(at + length)}`.slice(1);

type LabelRules = Pick<PackingSettings, 'label' | 'labelPattern' | 'labelLevel'> &
  Partial<Pick<PackingSettings, 'split'>> &
  Naming;

/** The folders of a key, outermost first, without those that name a split or a column. */
function classFolders(key: string, { split, join, innerSuffixes }: LabelRules): string[] {
  const part = split?.by === 'folder' ? splitPart(key, split) : undefined;
  const without = part === undefined ? key : withoutPart(key, part);
  const path =
    join === undefined ? without : (joinedIn(splitKey(without, innerSuffixes).stem, join)?.name ?? without);
  return path.split('/').slice(0, -1);
}

/** The folder that holds the sample, or the one of `labelLevel`; undefined for a key directly below incoming/. */
function folderLabel(key: string, rules: LabelRules): string | undefined {
  const folders = classFolders(key, rules);
  const folder = rules.labelLevel === undefined ? folders.at(-1) : folders[rules.labelLevel - 1];
  return folder === '' ? undefined : folder;
}

/** The label that the settings give a key (without the incoming prefix). */
export function labelOfKey(key: string, settings: LabelRules): string | undefined {
  switch (settings.label) {
    case 'none':
    case 'annotations':
      return undefined;
    case 'parentFolder':
      return folderLabel(key, settings);
    case 'namePattern':
      return settings.labelPattern === undefined
        ? undefined
        : boundedSearch('packing.labelPattern', new RegExp(settings.labelPattern, 'u'), key)?.[1];
    default:
      return settings.label satisfies never;
  }
}
