/** What a declaration makes of a folder, in sentences with counts and an example: as comments, and for `check`. */
import { open, stat } from 'node:fs/promises';
import path from 'node:path';
import { isUnpacked, packingSchema, SPLITS } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import {
  type Counted,
  type DataLayout,
  dataLayout,
  type LocalKey,
  type UnpackedFiles,
  unpackedFiles,
  unpackedKind,
} from '@tidewheel/packing/layout.ts';
import type { TableReader } from './label-tables.ts';
import { type FoundLayout, findLayout, type LayoutFields, remediesFor } from './layout.ts';
import { inline, oneLine } from './yaml-text.ts';

interface LayoutNote {
  /** A field of `packing`. */
  readonly field: 'archives' | 'split' | 'join' | 'require' | 'label' | 'accept' | 'innerSuffixes';
  readonly text: string;
}

export interface DataLayoutFacts extends FoundLayout {
  readonly notes: readonly LayoutNote[];
  readonly classes: readonly string[];
}

/**
 * @param store has the folder's files by their keys
 * @param accept undefined: all suffixes
 */
export async function describeLayout(
  store: TableReader,
  accept: readonly string[] | undefined,
  given: readonly LocalKey[],
): Promise<DataLayoutFacts> {
  const isOfArchives = 2 * given.filter(({ key }) => unpackedKind(key) !== undefined).length > given.length;
  const unpacked = isOfArchives ? await unpackedFiles(store, given) : undefined;
  const files = unpacked?.files ?? given;
  const keys = files.map(({ key }) => key);
  const found = await findLayout(keys, store, accept);
  const archives = unpacked && ({ archives: 'unpack' } as const);
  const declare = (fields: LayoutFields): PackingSettings =>
    packingSchema.parse({ ...(accept && { accept }), ...archives, ...fields });
  const [question, ...answers] = found.fields.require ?? [];
  const all = await dataLayout(store, declare({ ...found.fields, require: [] }), files);
  const inEach = answers.filter((column) => all.columns[column] === all.samples);
  const fields = question === undefined ? found.fields : { ...found.fields, require: [question, ...inEach] };
  const packing = declare(fields);
  const layout = await dataLayout(store, packing, files);
  const classes = packing.label === 'none' ? [] : [...layout.classes.keys()];
  return {
    fields: { ...archives, ...fields },
    remedies: [...(unpacked?.problems ?? []), ...found.remedies],
    notes: [...archiveNotes(unpacked), ...layoutNotes(packing, layout)],
    classes,
  };
}

function archiveNotes({ archives: [first, ...more], files }: UnpackedFiles = NONE_UNPACKED): LayoutNote[] {
  if (first === undefined) return [];
  const unpacked = withExample({ objects: more.length + 1, example: first }, 'archives are unpacked');
  return [{ field: 'archives', text: `${unpacked}, so there are ${files.length} files` }];
}

const NONE_UNPACKED: UnpackedFiles = { archives: [], files: [], problems: [] };

/** What init says of it, of the declaration as it is. @param folder absolute */
export async function notesOf(
  folder: string,
  packing: PackingSettings,
  given: readonly LocalKey[],
): Promise<Pick<DataLayoutFacts, 'notes' | 'remedies'>> {
  const store = localTables(folder);
  const unpacked = packing.archives === 'unpack' ? await unpackedFiles(store, given) : undefined;
  const files = unpacked?.files ?? given;
  const keys = files.map(({ key }) => key);
  return {
    notes: [...archiveNotes(unpacked), ...layoutNotes(packing, await dataLayout(store, packing, files))],
    remedies: isUnpacked(packing)
      ? []
      : [...(unpacked?.problems ?? []), ...(await remediesFor(keys, store, packing))],
  };
}

/** The tables and lists beside the data. @param folder absolute */
export function localTables(folder: string): TableReader {
  return {
    head: async (key) => {
      const found = await stat(path.join(folder, key)).catch(() => undefined);
      return found?.isFile() === true ? { size: found.size, etag: '', sums: {} } : undefined;
    },
    get: async (key, { range } = {}) => {
      const file = await open(path.join(folder, key)).catch(() => undefined);
      if (file === undefined) return { kind: 'missing' };
      try {
        const { size } = await file.stat();
        const bytes = Buffer.alloc(range?.length ?? size);
        const { bytesRead } = await file.read(bytes, 0, bytes.length, range?.offset ?? 0);
        return { kind: 'found', chunks: [bytes.subarray(0, bytesRead)], size: bytesRead, etag: '' };
      } finally {
        await file.close();
      }
    },
  };
}

const quote = (text: string): string => JSON.stringify(text);

const withExample = ({ objects, example }: Counted, what: string): string =>
  `${objects} ${what}, such as ${quote(example)}`;

function layoutNotes(packing: PackingSettings, layout: DataLayout): readonly LayoutNote[] {
  const { splits, joined, dots, empty } = layout;
  const noted = (field: LayoutNote['field'], counted: Counted | undefined, what: string): LayoutNote[] =>
    counted === undefined ? [] : [{ field, text: withExample(counted, what) }];
  return [
    ...leftOutNotes(layout),
    ...noted('accept', empty, 'files are empty'),
    ...(splits === undefined ? [] : [{ field: 'split', text: splitText(splits, layout) } as const]),
    ...(packing.join === undefined
      ? []
      : [{ field: 'join', text: joinText(joined, packing.join, layout.samples) } as const]),
    ...noted('innerSuffixes', dots.joined, 'join a sample by a word between dots'),
    ...noted('innerSuffixes', dots.paired, 'join a file of the same name, as one sample'),
    ...labelNotes(packing, layout),
  ];
}

/** The field that leaves files out for a reason. */
const FIELD_OF: Readonly<Record<string, LayoutNote['field']>> = {
  groupMissing: 'split',
  incomplete: 'require',
  labelMissing: 'label',
  labelDoubled: 'label',
};

/** Most first: what is not trained on. */
function leftOutNotes({ leftOut, files }: DataLayout): LayoutNote[] {
  return Object.entries(leftOut)
    .filter(([reason]) => reason !== 'ignored')
    .toSorted(([, a], [, b]) => b.objects - a.objects)
    .map(([reason, counted]) => ({
      field: FIELD_OF[reason] ?? 'accept',
      text: `${counted.objects} of ${files} files are left out (${reason}), such as ${quote(counted.example)}`,
    }));
}

const splitText = (splits: NonNullable<DataLayout['splits']>, { samples }: DataLayout): string => {
  const parts = SPLITS.flatMap((name) => {
    const counted = splits[name];
    return counted === undefined ? [] : [`${counted.objects} for ${name} (${quote(counted.example)})`];
  });
  return `${samples} samples: ${parts.join(', ') || 'none is in a split'}`;
};

function joinText(
  joined: DataLayout['joined'],
  join: NonNullable<PackingSettings['join']>,
  samples: number,
): string {
  const columns = Object.keys(join).join(' and ');
  return joined === undefined
    ? `none of ${samples} samples has ${columns}`
    : `${joined.samples} of ${samples} samples have ${columns}, such as ${joined.example.map(quote).join(' with ')}`;
}

const CLASSES_SHOWN = 4;

function labelNotes({ label, annotations: declared }: PackingSettings, layout: DataLayout): LayoutNote[] {
  const { classes, unlabelled, annotations } = layout;
  const hasNothing = classes.size === 0 && unlabelled === undefined && annotations === undefined;
  if (label === 'none' || hasNothing) return [];
  const texts = [
    ...(annotations === undefined ? [] : [`${annotations.rows} rows in ${declared?.file ?? ''}`]),
    classesText(classes),
    ...(unlabelled === undefined ? [] : [withExample(unlabelled, 'samples have none')]),
    ...unknownRows(layout),
  ];
  return [{ field: 'label', text: texts.join('; ') }];
}

function classesText(classes: DataLayout['classes']): string {
  const [first] = classes;
  if (first === undefined) return 'no sample has a label';
  const [name, { example }] = first;
  const shown = [...classes.keys()].slice(0, CLASSES_SHOWN).join(', ');
  const more = classes.size > CLASSES_SHOWN ? ', …' : '';
  return `${classes.size} classes (${shown}${more}), such as ${quote(name)} of ${quote(example)}`;
}

/** What to declare where rows name no file. */
function unknownRows(layout: DataLayout): string[] {
  const rows = layout.annotations?.byProblem.unknownKey ?? 0;
  const example = layout.annotations?.unknown ?? '';
  return rows === 0
    ? []
    : [
        `${rows} rows name no file, such as ${quote(example)}${near(layout)}: declare packing.annotations.folder, prefix or key`,
      ];
}

/** A file without a row, beside a row without a file. */
const near = ({ leftOut }: DataLayout): string => {
  const missing = leftOut['labelMissing'];
  return missing === undefined ? '' : `, while ${quote(missing.example)} has no row`;
};

// As lines of a declaration.

const HINT = 'parentFolder, namePattern or annotations, if the samples have labels';

const comment = (text: string): string => `  # ${oneLine(text)}`;

export function layoutLines({ fields, notes, remedies }: DataLayoutFacts): string[] {
  const isWritten = (field: string): boolean => Object.keys(fields).includes(field);
  const found = (some: readonly LayoutNote[]): string[] => some.map(({ text }) => comment(`found: ${text}`));
  const written = Object.entries(fields).flatMap(([name, value]) => {
    if (value === undefined || (Array.isArray(value) && value.length === 0)) return [];
    const hint = name === 'label' && value === 'none' ? `   # ${HINT}` : '';
    return [...found(notes.filter(({ field }) => field === name)), `  ${name}: ${inline(value)}${hint}`];
  });
  const others = notes.filter(({ field }) => !isWritten(field));
  return [...found(others), ...written, ...remedies.map((text) => comment(`TO DO: ${text}.`))];
}
