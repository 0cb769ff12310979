/** How people lay data out, read from names and first rows: given splits, pairs, class folders, tables of labels. A guess. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { labelOfKey } from '@tidewheel/packing/bundles.ts';
import { isArchive } from '@tidewheel/packing/layout.ts';
import { isPart, lastOf, partOf, splitByFolders, splitByLists, undeclaredParts } from './given-parts.ts';
import {
  type FoundTable,
  findTable,
  TABLE,
  type TableReader,
  tablesOfFolders,
  textsAboutFiles,
} from './label-tables.ts';
import { areHalves, findJoin, isQuestion } from './pairs.ts';

/** The fields of `packing` that say how the data is laid out. */
export interface LayoutFields {
  readonly archives?: 'unpack';
  readonly split?: PackingSettings['split'];
  readonly join?: PackingSettings['join'];
  readonly require?: readonly string[];
  readonly label: PackingSettings['label'];
  readonly labelLevel?: number;
  readonly annotations?: FoundTable;
}

export interface FoundLayout {
  readonly fields: LayoutFields;
  /** What cannot be declared, with what to do. */
  readonly remedies: readonly string[];
}

/**
 * @param paths relative to the folder of the data, with slashes
 * @param accept suffixes of samples; undefined: all
 */
export async function findLayout(
  paths: readonly string[],
  store: TableReader,
  accept?: readonly string[],
): Promise<FoundLayout> {
  const data = paths.filter((path) => !isBeside(path));
  const samples = samplesOf(data).filter((path) => accept?.some((one) => path.endsWith(one)) ?? true);
  const folders = splitByFolders(samples.length > 0 ? samples : data);
  const split = folders ?? (await splitByLists(data, store));
  const join = findJoin(
    accept === undefined ? data : data.filter((path) => accept.some((one) => path.endsWith(one))),
  );
  const classes = join === undefined ? classesIn(samples, { split }) : undefined;
  const ofFolders = classes === undefined ? [] : await tablesOfFolders(data, store);
  const labels =
    classes === undefined
      ? await labelsByTable(data, store)
      : ofFolders.length > 0
        ? { fields: NO_LABELS, remedies: ofFolders }
        : labelsByFolder(classes);
  const fields = {
    ...(split && { split }),
    ...(join && { join: join.patterns, require: join.require }),
    ...labels.fields,
  };
  const parts = await undeclaredParts(data, samplesOf(data), store, fields);
  return { fields, remedies: [...undeclared(data, fields), ...labels.remedies, ...parts] };
}

/** What a declaration of these files leaves to a person. */
export async function remediesFor(
  paths: readonly string[],
  store: TableReader,
  declared: Pick<PackingSettings, 'label' | 'join'> & Partial<Pick<PackingSettings, 'split'>>,
): Promise<readonly string[]> {
  const data = paths.filter((path) => !isBeside(path));
  const isOfTable = declared.label === 'none' || declared.label === 'annotations';
  const ofFolders = declared.label === 'none' ? await tablesOfFolders(data, store) : [];
  const labels =
    isOfTable && ofFolders.length === 0 ? (await labelsByTable(data, store)).remedies : ofFolders;
  return [
    ...undeclared(data, declared),
    ...labels,
    ...(await undeclaredParts(data, samplesOf(data), store, declared)),
  ];
}

function undeclared(
  data: readonly string[],
  { label, join }: Pick<PackingSettings, 'label' | 'join'>,
): readonly string[] {
  const samples = samplesOf(data);
  return [
    ...(label === 'none' && join === undefined ? namedClasses(samples) : []),
    ...archives(data),
    ...documents(data),
    ...halves(samples, join),
  ];
}

/** Tables and texts are samples where there is nothing else. */
function samplesOf(data: readonly string[]): readonly string[] {
  const files = data.filter((path) => !TABLE.test(path));
  if (files.length === 0) return data;
  const media = files.filter((path) => !TEXT.test(path));
  return media.length > 0 && media.length * MOST_TEXTS_A_SAMPLE >= files.length ? media : files;
}

/** With more texts than that beside it, what is no text says something of them, as a vocabulary. */
const MOST_TEXTS_A_SAMPLE = 10;

interface FoundLabels {
  readonly fields: Pick<LayoutFields, 'label' | 'labelLevel' | 'annotations'>;
  readonly remedies: readonly string[];
}

const labelsByFolder = ({ level }: Classes): FoundLabels => ({
  fields: { label: 'parentFolder', ...(level !== undefined && { labelLevel: level }) },
  remedies: [],
});

async function labelsByTable(data: readonly string[], store: TableReader): Promise<FoundLabels> {
  const { found, remedies } = await findTable(data, store);
  if (found !== undefined) return { fields: { label: 'annotations', annotations: found }, remedies };
  const texts = data.filter(
    (path) => /\.(txt|lst)$/i.test(path) && partOf(lastOf(path).slice(0, -4)) === undefined,
  );
  const about = texts.length > MOST_TEXTS ? [] : await textsAboutFiles(texts, data, store);
  return { fields: NO_LABELS, remedies: [...remedies, ...about] };
}

/** More of them are members of samples. */
const MOST_TEXTS = 10;

const NO_LABELS = { label: 'none' } as const;

/** Beside pictures and sounds, they say something of them. */
const TEXT = /\.(txt|lst|json|xml|ya?ml|html?|names|cfg|py|sh|mat)$/i;

/** Words about the data, which are no data. */
const isBeside = (path: string): boolean =>
  /(^|\/)(readme|license|licence|changelog|citation|notice|credits)(\.[a-z]{1,4})?$|\.(md|rst|pdf|docx?|py|ipynb|sh)$/i.test(
    path,
  );

const DEEPEST = 8;
/** Folders of recordings rather than of classes. */
const RECORDING =
  /(^|[-_ ])(camera|cam|seq|sequence|part|fold|batch|chunk|scene|frame|session|patient|subject|speaker|run|day|clip|img|image|data|file)s?[-_ ]?\d*$|(^|[-_ ])(actor|participant|person|user|video)s?[-_ ]?\d+$|^\d{4}[-_.]?\d{2}([-_.]?\d{2})?$/i;
/** Ways to show the same picture. */
const VARIANT = /^(colou?r|gr[ae]y(scale)?|segmented|original|raw|augmented|resized|cropped|masked)$/i;
const NOT_LABELLED = /^(un[-_]?labell?ed|unsup(ervised)?)$/i;
const NO_CLASS = new RegExp(`^\\d+$|${RECORDING.source}`, 'i');

/** The others are strays. */
const LEAST_IN_FOLDERS = 0.9;

interface Classes {
  /** Undefined for the folder that holds the file. */
  readonly level?: number;
}

/** The level of folders that tells classes apart: one whose names do not stand under several others. */
function classesIn(paths: readonly string[], rules: Pick<LayoutFields, 'split'>): Classes | undefined {
  const all = paths.map((path) => foldersAbove(path, rules));
  const inside = all.filter(({ length }) => length > 0);
  // A part whose samples lie in one folder has no labels, as the validation of ImageNet.
  const least = rules.split === undefined ? LEAST_IN_FOLDERS : 0.5;
  const levels = inside.length > least * all.length ? inside : all;
  const [depth, ...otherDepths] = new Set(levels.map(({ length }) => length));
  if (depth === undefined || depth === 0 || otherDepths.includes(0)) return undefined;
  return otherDepths.length > 0 ? classesAtTop(levels) : classesAtOneDepth(levels, depth);
}

/** The names of the folders around each file, the outermost first. */
type Levels = readonly (readonly string[])[];

/** The folders of a split are not among them. */
function foldersAbove(path: string, rules: Pick<LayoutFields, 'split'>): readonly string[] {
  const names: string[] = [];
  for (let labelLevel = 1; labelLevel <= DEEPEST; labelLevel += 1) {
    const name = labelOfKey(path, { ...rules, label: 'parentFolder', labelLevel });
    if (name === undefined) break;
    names.push(name);
  }
  return names;
}

const namesAt = (levels: Levels, level: number): string[] => [
  ...new Set(levels.map((one) => one[level - 1] ?? '')),
];

/** Files at several depths have only the outermost folder in common. */
function classesAtTop(levels: Levels): Classes | undefined {
  const names = namesAt(levels, 1);
  const areClasses = !names.some((name) => isQuestion(name) || NOT_LABELLED.test(name));
  return names.length > 1 && areClasses ? { level: 1 } : undefined;
}

function classesAtOneDepth(levels: Levels, depth: number): Classes | undefined {
  let level = depth;
  while (level > 1 && isNoClass(levels, level)) level -= 1;
  const names = namesAt(levels, level);
  if (names.length < 2 || areHalves(names) || names.some(isQuestion) || names.every(isPart)) return undefined;
  if (level === 1 && names.every((name) => RECORDING.test(name))) return undefined;
  return level === depth ? {} : { level };
}

function isNoClass(levels: Levels, level: number): boolean {
  const names = new Set(namesAt(levels, level));
  const folders = new Set(levels.map((one) => one.slice(0, level).join('/')));
  const above = namesAt(levels, level - 1).filter((name) => !isPart(name));
  const isRepeated =
    folders.size > names.size && above.length > 1 && !above.every((one) => VARIANT.test(one));
  const isOneEach = levels.length < 1.5 * folders.size && folders.size > 3;
  const unlike = [...names].filter((name) => NO_CLASS.test(name)).length;
  return isRepeated || isOneEach || unlike * 2 > names.size;
}

const MOST_NAMED = 50;

/** Names that begin with a word and continue with a number, as cat.12.jpg. */
function namedClasses(paths: readonly string[]): string[] {
  const words = paths.flatMap((path) => /^([A-Za-z]+)[._-]?\d+/.exec(lastOf(path))?.[1] ?? []);
  const classes = [...new Set(words)].filter((word) => !isPart(word) && word.length > 1);
  const isLikely = classes.length > 1 && classes.length <= MOST_NAMED && classes.length * 3 <= words.length;
  return !isLikely || words.length * 2 < paths.length
    ? []
    : [
        `names begin with ${classes.slice(0, 4).join(', ')}: if these are the classes, write label: namePattern and labelPattern: '([A-Za-z]+)[._-]?[0-9]+[^/]*$'`,
      ];
}

/** Folders that look like pairs and have no names in common. */
function halves(paths: readonly string[], join: unknown): string[] {
  const folders = [...new Set(paths.flatMap((path) => path.split('/').slice(-2, -1)))];
  return join !== undefined || !areHalves(folders)
    ? []
    : [
        `${folders.join(' and ')} look like halves of samples, but their names do not match: declare packing.join`,
      ];
}

const exampleOf = (paths: readonly string[]): string => JSON.stringify(paths[0] ?? '');

/** Folders that are parts or halves of the same data as the chosen one. */
export const areBeside = (tops: readonly string[], chosen: string): readonly string[] =>
  tops.filter(
    (top) =>
      top !== chosen &&
      ((partOf(top) !== undefined && partOf(chosen) !== undefined) || areHalves([top, chosen])),
  );

/** A table that is named for a part or for labels. */
export const isOfData = (table: string): boolean =>
  partOf(table.replace(/\.\w+$/, '')) !== undefined ||
  /label|annotation|metadata|^(data|dataset)\.ya?ml$/i.test(table);

/**
 * Folders and tables beside the chosen folder that seem to be of the same data.
 * @param names of the project's files
 */
export function besideData(names: readonly string[], chosen: string): string[] {
  const tops = new Set(
    names.flatMap((name) => (name.includes('/') ? [name.slice(0, name.indexOf('/'))] : [])),
  );
  const folders = [...tops].filter(
    (top) => top !== chosen && (partOf(top) !== undefined || areHalves([top, chosen])),
  );
  const tables = names.filter((name) => !name.includes('/') && TABLE.test(name));
  const beside = [...folders.map((one) => `${one}/`), ...tables];
  return beside.length === 0
    ? []
    : [
        `${beside.join(', ')} beside ${chosen}/ may be of the same data, and is not sent: name all as x-local.data, or put them into one folder`,
      ];
}

/** One is packed as one sample, whatever is in it. */
function archives(paths: readonly string[]): string[] {
  const packed = paths.filter(isArchive);
  return packed.length === 0
    ? []
    : [
        `${packed.length} archives, such as ${exampleOf(packed)}, would each be one sample: unpack them, or write packing.archives: unpack`,
      ];
}

/** A document about many files, as COCO has it. */
function documents(paths: readonly string[]): string[] {
  const json = paths.filter((path) => /\.json$/i.test(path));
  const isMinor = json.length > 0 && json.length * 10 < paths.length;
  const named = json.filter((path) =>
    /(^|\/)(instances|captions|person_keypoints|panoptic|_?annotations|dataset|via_region_data|labels)[^/]*\.json$/i.test(
      path,
    ),
  );
  const about = named.length > 0 && json.length <= 10 ? named : isMinor && json.length <= 10 ? json : [];
  return about.length === 0
    ? []
    : [
        `${about.length === 1 ? '' : `${about.length} documents such as `}${exampleOf(about)} ${about.length === 1 ? 'is' : 'are'} about many files: no label is read from it, so the script has to read it in its channel of files`,
      ];
}
