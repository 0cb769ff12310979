/**
 * Files of one sample in parallel folders, as images and masks, with ends of names, as 1.jpg and 1_mask.png, or in a
 * folder of their own, as case1/scan.nii and case1/mask.nii.
 */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { columnOf, INNER_SUFFIXES, splitKey } from '@tidewheel/packing/layout.ts';

export interface FoundJoin {
  readonly patterns: NonNullable<PackingSettings['join']>;
  /** What each sample has. */
  readonly require: readonly string[];
}

/** What a folder of answers is called; class folders are not. */
const ANSWERS =
  /^([a-z0-9]+[-_])*(masks?|labels?|label_?\d|labelstr|(train|val|test)?annot(ation)?s?|anns?|segmentations?|segmentationclass|segs?|trimaps?|gt|gtfine|ground[-_]?truths?|targets?|depths?|xmls?|captions?|normals?|disparit(y|ies))([-_]?(train|png|txt|xml))?$/i;
/** Such a folder is a class as well, unless one of questions lies beside it. */
const OFTEN_CLASS = /^(normals?|targets?)$/i;
const QUESTIONS =
  /^(images?|imgs?|imagestr|jpegimages|photos?|pictures?|leftimg8bit|inputs?|rgb|velodyne|scans?|frames?)/i;
const PICTURE = /^(png|jpe?g|webp|gif|bmp|tiff?)$/i;
const ENDING = /[_-](masks?|segs?|segmentations?|labels?|gt|depth|annotations?|matte|alpha)$/i;

/** A file in one of two parallel folders: what is left of its path without the folder and the suffix. */
interface Placed {
  readonly name: string;
  readonly suffix: string;
}

/** By the folder or the first of two, as annotations/trimaps. */
const isAnswer = (folder: string): boolean => ANSWERS.test(folder.split('/')[0] ?? '');

/** A folder of pictures and the like, which is no class. */
export const isQuestion = (folder: string): boolean => !isAnswer(folder) && QUESTIONS.test(folder);

/** Folders of questions and answers, which are no classes though nothing joins them. */
export const areHalves = (folders: readonly string[]): boolean =>
  folders.some(isAnswer) &&
  folders.some(isQuestion) &&
  folders.every((one) => isAnswer(one) || isQuestion(one));

export const findJoin = (paths: readonly string[]): FoundJoin | undefined =>
  inFolders(paths) ?? byEndings(paths) ?? byCases(paths);

const TWINS: readonly (readonly [question: string, answer: string])[] = [
  ['x', 'y'],
  ['lr', 'hr'],
];
const MOST_UNNAMED = 20;
const WORDS = /^(txt|json|xml|lab|textgrid|csv|srt|vtt|phn|wrd|ann)$/;

type Folder = readonly [name: string, files: readonly Placed[]];

/** Names say it, or texts that lie beside what they are about. Names of files decide in the end. */
function mayAnswer([question, questions]: Folder, [answer, answers]: Folder): boolean {
  if (question === answer) return false;
  if (isAnswer(answer)) return !isAnswer(question) && (isQuestion(question) || !OFTEN_CLASS.test(answer));
  const isTwin = TWINS.some(([x, y]) => question.toLowerCase() === x && answer.toLowerCase() === y);
  return isTwin || (WORDS.test(answers[0]?.suffix ?? '') && !WORDS.test(questions[0]?.suffix ?? ''));
}

/** Files by the folder before a place and the folder at it. */
function neighbours(paths: readonly string[]): Map<string, Map<string, Placed[]>> {
  const found = new Map<string, Map<string, Placed[]>>();
  for (const path of paths) {
    const { stem, suffix } = splitKey(path, INNER_SUFFIXES);
    const names = stem.split('/');
    for (let at = 0; at < names.length - 1; at += 1) {
      const before = names.slice(0, at).join('/');
      const folders = found.get(before) ?? new Map<string, Placed[]>();
      found.set(before, folders);
      // The answers to images/ may lie in annotations/trimaps/.
      const isNested = isAnswer(names[at] ?? '') && at + 2 < names.length;
      for (const parts of isNested ? [1, 2] : [1]) {
        const name = [...names.slice(0, at), ...names.slice(at + parts)].join('/');
        const folder = names.slice(at, at + parts).join('/');
        const placed = folders.get(folder) ?? [];
        folders.set(folder, placed);
        placed.push({ name, suffix: suffix.toLowerCase() });
      }
    }
  }
  return found;
}

interface Pair {
  readonly question: string;
  readonly answer: string;
  readonly questionEnd: string;
  readonly answerEnd: string;
  readonly matched: number;
  readonly questions: readonly Placed[];
  readonly answers: readonly Placed[];
}

function inFolders(paths: readonly string[]): FoundJoin | undefined {
  const all = new Map<string, { questions: Placed[]; answers: Placed[]; names: readonly [string, string] }>();
  for (const folders of neighbours(paths).values())
    for (const [answer, answers] of folders) {
      // Of many folders, only their names say what they are.
      if (!isAnswer(answer) && folders.size > MOST_UNNAMED) continue;
      for (const [question, questions] of folders) {
        if (!mayAnswer([question, questions], [answer, answers])) continue;
        const id = `${question}/${answer}`;
        const one = all.get(id) ?? { questions: [], answers: [], names: [question, answer] as const };
        all.set(id, one);
        for (const each of questions) one.questions.push(each);
        for (const each of answers) one.answers.push(each);
      }
    }
  const pairs = [...all.values()].flatMap((one) => pairOf(one) ?? []);
  const [best] = pairs.toSorted((a, b) => rank(b) - rank(a));
  if (best === undefined) return undefined;
  const isOfBest = (one: Pair): boolean =>
    one.question === best.question ||
    (one.answer === best.answer &&
      one.matched === one.questions.length &&
      one.questionEnd === best.questionEnd);
  return joinOf(best, [best, ...pairs.filter((one) => one !== best && isOfBest(one))]);
}

const rank = ({ question, matched }: Pair): number => matched + (QUESTIONS.test(question) ? 1e9 : 0);

interface Compared {
  readonly questions: readonly Placed[];
  readonly answers: readonly Placed[];
  readonly names: readonly [string, string];
}

/** Pairs whose folders do not say what they are. */
const LEAST_UNNAMED = 3;

/** Undefined if fewer than half of the answers have a question; all of them, where the folder does not say so. */
function pairOf({ questions, answers, names: [question, answer] }: Compared): Pair | undefined {
  const tried = ['', commonEnd(questions)].flatMap((questionEnd) =>
    ['', commonEnd(answers)].map((answerEnd) => {
      const known = new Set(questions.flatMap(({ name }) => without(name, questionEnd)));
      const matched = answers.filter(({ name }) =>
        without(name, answerEnd).some((one) => known.has(one)),
      ).length;
      return { question, answer, questionEnd, answerEnd, matched, questions, answers };
    }),
  );
  const [best] = tried.toSorted((a, b) => b.matched - a.matched);
  if (best === undefined || best.matched === 0) return undefined;
  const least = isAnswer(answer) ? answers.length / 2 : Math.max(LEAST_UNNAMED, answers.length);
  return best.matched >= least ? best : undefined;
}

const without = (name: string, end: string): string[] =>
  name.endsWith(end) ? [name.slice(0, name.length - end.length)] : [];

/** What all names end with from an underscore or a hyphen on, such as _0000; empty for a single name. */
function commonEnd(placed: readonly Placed[]): string {
  const [first, ...others] = placed.map(({ name }) => name);
  if (first === undefined || others.length === 0) return '';
  let length = first.length;
  for (const name of others) while (!name.endsWith(first.slice(first.length - length))) length -= 1;
  return /[_-][^/]*$/.exec(first.slice(first.length - length).replace(/^[^_-]*/, ''))?.input ?? '';
}

/** @param pairs with the question or the answer of the best one */
function joinOf(best: Pair, pairs: readonly Pair[]): FoundJoin {
  const columns: Column[] = [];
  const add = (wanted: string, place: Omit<Column, 'column'>): void => {
    const isTaken = columns.some(({ column }) => column === wanted);
    const folder = place.pattern.slice(0, place.pattern.indexOf('/'));
    columns.push({ column: isTaken ? columnFor(folder.toLowerCase()) : wanted, ...place });
  };
  const answers = pairs.filter(({ question }) => question === best.question);
  const suffix = best.questions[0]?.suffix ?? '';
  const isImage = PICTURE.test(suffix) || answers.some((one) => one.answers[0]?.suffix === suffix);
  for (const one of pairs.filter(({ answer }) => answer === best.answer))
    add(isImage ? 'image' : columnFor(suffix), {
      pattern: `${one.question}/*${one.questionEnd}`,
      suffix: one.questions[0]?.suffix ?? '',
      isInEach: one.matched === one.answers.length,
    });
  for (const one of answers)
    add(answerColumn(one), {
      pattern: `${one.answer}/*${one.answerEnd}`,
      suffix: one.answers[0]?.suffix ?? '',
      isInEach: one.matched === one.questions.length,
    });
  return {
    patterns: Object.fromEntries(columns.map(({ column, pattern }) => [column, pattern])),
    require: columns.flatMap((one, place) => (place === 0 || one.isInEach ? [memberColumn(one)] : [])),
  };
}

interface Column {
  readonly column: string;
  readonly pattern: string;
  readonly suffix: string;
  /** Each sample has it. */
  readonly isInEach: boolean;
}

const columnFor = (suffix: string): string => suffix.replace(/[^a-z0-9_]/g, '_') || 'data';

/** `mask` for pictures, and for what has the suffix of the question; the suffix for a text. */
function answerColumn({ answer, answers, questions }: Pair): string {
  const suffix = answers[0]?.suffix ?? '';
  const isPicture = PICTURE.test(suffix) || suffix === questions[0]?.suffix || suffix === 'label';
  return isPicture ? (/depth|normal/i.exec(answer)?.[0].toLowerCase() ?? 'mask') : columnFor(suffix);
}

/** The column in the shards: what is no image has its suffix too, as mask_nii_gz. */
const memberColumn = ({ column, suffix }: Column): string =>
  columnOf(suffix) === column ? column : columnOf(`${column}.${suffix}`);

/** Names that end with a known word, beside the same name without it. */
function byEndings(paths: readonly string[]): FoundJoin | undefined {
  const stems = new Set(paths.map((path) => splitKey(path, INNER_SUFFIXES).stem));
  const found = new Map<string, { all: number; beside: number }>();
  for (const path of paths) {
    const { stem } = splitKey(path, INNER_SUFFIXES);
    const end = ENDING.exec(stem)?.[0];
    if (end === undefined) continue;
    const one = found.get(end) ?? { all: 0, beside: 0 };
    found.set(end, one);
    one.all += 1;
    if (stems.has(stem.slice(0, -end.length))) one.beside += 1;
  }
  const ends = [...found].filter(([, { all, beside }]) => beside > 0 && beside * 2 >= all);
  if (ends.length === 0) return undefined;
  const patterns = Object.fromEntries(
    ends.map(([end]) => [/label/i.test(end) ? 'mask' : end.slice(1).toLowerCase(), `*${end}`]),
  );
  return { patterns, require: [] };
}

const LEAST_CASES = 3;
const MOST_COLUMNS = 20;
const LONGEST_COLUMN = 40;
/** How many of the folders have the files that most have. */
const ALIKE_SHARE = 0.8;

/** The files of each folder, by their names without that of the folder, with their suffixes. */
function filesByFolder(paths: readonly string[]): readonly ReadonlyMap<string, string>[] {
  const folders = new Map<string, Map<string, string>>();
  for (const path of paths) {
    const { stem, suffix } = splitKey(path, INNER_SUFFIXES);
    const at = stem.lastIndexOf('/');
    const folder = stem.slice(0, Math.max(0, at));
    const own = folder.slice(folder.lastIndexOf('/') + 1);
    const base = stem.slice(at + 1);
    const isOwn = own !== '' && base.startsWith(own) && base.length > own.length;
    const files = folders.get(folder) ?? new Map<string, string>();
    folders.set(folder, files.set(isOwn ? base.slice(own.length) : `/${base}`, suffix.toLowerCase()));
  }
  return [...folders.values()];
}

/** Folders that hold the same files by name, each of which says what it is: a folder is a sample. */
function byCases(paths: readonly string[]): FoundJoin | undefined {
  const folders = filesByFolder(paths);
  const kinds = Map.groupBy(folders, (files) => JSON.stringify([...files.keys()].sort()));
  const [most = []] = [...kinds.values()].toSorted((a, b) => b.length - a.length);
  const files = [...(most[0] ?? [])];
  const words = new Set(files.map(([end]) => end.replace(/[^A-Za-z]/g, '').toLowerCase()));
  const areWords = files.length > 1 && !words.has('') && words.size * 2 > files.length;
  const isTooMuch = files.length > MOST_COLUMNS || files.some(([end]) => end.length > LONGEST_COLUMN);
  // With more names than folders, the folders are classes or kinds rather than samples.
  const least = Math.max(LEAST_CASES, files.length, ALIKE_SHARE * folders.length);
  if (!areWords || isTooMuch || most.length < least) return undefined;
  const columns = files.map(([end, suffix]) => {
    const word = columnFor(end.replace(/^[^A-Za-z0-9]+/, '').toLowerCase());
    return { column: word, pattern: `*${end}`, suffix, isInEach: true };
  });
  return {
    patterns: Object.fromEntries(columns.map(({ column, pattern }) => [column, pattern])),
    require: columns.map(memberColumn),
  };
}
