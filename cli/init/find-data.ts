/** Finds the data of a project: one folder, or folders and tables that lie beside the code. */
import path from 'node:path';
import { UsageError } from '@tidewheel/kit/command-line.ts';
import { type DataFacts, dataIn, withLayout } from './data.ts';
import { areBeside, isOfData } from './layout.ts';
import { localTables } from './layout-notes.ts';
import { namesFolder, withoutDefaults } from './script.ts';

interface Wanted {
  readonly wanted: string | undefined;
  /** A job says where its data is: another folder may have pictures of a notebook, or the code. */
  readonly isOptional: boolean;
  /** The script's source. */
  readonly text: string;
}

interface Sized {
  readonly name: string;
  readonly size: number;
}

/** @throws UsageError where none is where the person says */
export async function findData(
  folder: string,
  files: readonly Sized[],
  { wanted, isOptional, text }: Wanted,
): Promise<DataFacts | undefined> {
  if (isOptional && wanted === undefined) return undefined;
  const names = files.map(({ name }) => name);
  const places =
    wanted === undefined ? placesOf(names, text) : [path.posix.normalize(wanted).replace(/\/$/, '')];
  const [only = '', other] = places;
  // A folder is the data; what lies beside the code keeps its name.
  const isFolder = other === undefined && !names.includes(only);
  const root = isFolder ? only : '.';
  const below = keysIn(files, places, isFolder ? root : undefined);
  const keys = below.map(({ key }) => key);
  const facts = dataIn(root, keys);
  if (facts === undefined) return noneAt(isOptional ? undefined : wanted);
  const data = { ...facts, ...readBy(text, facts, isFolder ? undefined : places) };
  const beside = isFolder ? names : [];
  return withLayout(localTables(path.join(folder, root)), data, { files: below, beside });
}

/** @param places undefined where the folder is the data */
function readBy(text: string, { folder, tables }: DataFacts, places: readonly string[] | undefined) {
  const named =
    places === undefined ? namedIn(text, [folder], tables) : namedIn(text, [], [...tables, ...places]);
  return { ...(places && { places }), ...(named.length > 0 && { named }) };
}

/** @param root keys begin below it; undefined: they are whole names */
const keysIn = (files: readonly Sized[], places: readonly string[], root: string | undefined) =>
  files
    .filter(({ name }) => places.some((place) => name === place || name.startsWith(`${place}/`)))
    .map(({ name, size }) => ({ key: root === undefined ? name : name.slice(root.length + 1), size }));

function noneAt(wanted: string | undefined): undefined {
  if (wanted !== undefined) throw new UsageError([`--data is "${wanted}": no data was found there`]);
  return undefined;
}

/** The folder, or else what of it or beside it the script names, in the script's order. */
function namedIn(text: string, folder: readonly string[], others: readonly string[]): readonly string[] {
  const read = withoutDefaults(text);
  const isNamed = (one: string): boolean => namesFolder(read, one);
  return folder.some(isNamed)
    ? folder
    : [...new Set(others)].filter(isNamed).toSorted((a, b) => text.indexOf(a) - text.indexOf(b));
}

/** What a training or its author leaves beside the code. */
const NO_DATA =
  /^(outputs?|results?|logs?|lightning_logs|runs|wandb|mlruns|checkpoints?|ckpts?|models?|configs?|conf|docs?|tests|scripts?|src|notebooks?|assets|figures?|\.github)$/i;
const DATA =
  /data|set|images?|imgs?|photos?|pictures?|audio|wavs?|clips?|videos?|texts?|corpus|train|test|val|inputs?|masks?|labels?|raw/i;
const TABLES = /\.(csv|tsv|parquet|jsonl|ndjson|feather|arrow|npz|npy|h5|hdf5|pkl|xlsx)$/i;
/** A file of this kind is no data unless its name says so. */
const DOCUMENT = /\.(json|ya?ml)$/i;

/** The folder with the most files of data, and what seems to be of the same; else tables at the top. */
function placesOf(names: readonly string[], text: string): readonly string[] {
  const tops = [...new Set(names.flatMap((name) => /^[^/]+(?=\/)/.exec(name)?.[0] ?? []))].filter(
    (top) => !NO_DATA.test(top),
  );
  const known = (top: string) => {
    const below = names
      .filter((name) => name.startsWith(`${top}/`))
      .map((name) => name.slice(top.length + 1));
    const { files = 0, isUnknown } = dataIn(top, below) ?? {};
    // Settings beside code.
    const isOfCode = below.filter((name) => name.endsWith('.py')).length >= files;
    return { files, isUnknown: isUnknown === true, isOfCode };
  };
  const folders = tops
    .map((top) => ({ top, ...known(top), isLikely: DATA.test(top) }))
    .filter(({ top, files, isUnknown, isOfCode, isLikely }) => {
      const isData = isLikely || (!isOfCode && namesFolder(text, top));
      return files > 0 && (isData || !(isUnknown || isOfCode));
    });
  const isNamed = ({ top }: { readonly top: string }): number => Number(namesFolder(text, top));
  const [most] = folders.toSorted((a, b) => isNamed(b) - isNamed(a) || b.files - a.files);
  const tables = names.filter((name) => !name.includes('/') && TABLES.test(name));
  const documents = names.filter((name) => !name.includes('/') && DOCUMENT.test(name) && isOfData(name));
  const named = [...tables.filter((name) => namesFolder(text, name) || isOfData(name)), ...documents];
  if (most === undefined) return named.length > 0 ? named : tables;
  const beside = areBeside(
    folders.map(({ top }) => top),
    most.top,
  );
  if (named.length > 0 && !most.isLikely && isNamed(most) === 0 && beside.length === 0) return named;
  return [most.top, ...beside, ...named];
}
