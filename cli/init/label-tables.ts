/** A table beside the data whose rows name its files: which column is the name, which the label, and what names lack. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { INNER_SUFFIXES, splitKey } from '@tidewheel/packing/layout.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';

export type TableReader = Pick<BlobStore, 'head' | 'get'>;
export type FoundTable = NonNullable<PackingSettings['annotations']>;

export const TABLE = /\.(csv|tsv|jsonl|ndjson|manifest)$/i;
const MOST_TABLES = 10;
const MOST_ROWS = 200;
const LABEL =
  /^(label|labels|class|classes|category|target|diagnosis|species|breed|y|class_?name|label_?name|class_?id|label_?id|sentiment|emotion|dx|outcome|grade)$/i;

export async function findTable(paths: readonly string[], store: TableReader) {
  const tables = paths.filter((path) => TABLE.test(path));
  const data = paths.filter((path) => !TABLE.test(path));
  if (data.length === 0) return { remedies: [] };
  const names = new Names(data);
  const candidates: { readonly matched: number; readonly file: string; readonly table: Matched }[] = [];
  for (const file of tables.slice(0, MOST_TABLES)) {
    const table = matched(rowsOf(file, await beginningOf(store, file)), names);
    if (table !== undefined) candidates.push({ matched: table.matched, file, table });
  }
  const [best, ...others] = candidates.toSorted((a, b) => b.matched - a.matched);
  if (best === undefined) return { remedies: [] };
  const { key, label, folder, prefix } = best.table;
  const remedies = others
    .filter(({ table }) => table.label !== undefined)
    .map(
      ({ file }) =>
        `${JSON.stringify(file)} names files too, and only one file of annotations is read: join the tables`,
    );
  if (label === undefined)
    return {
      remedies: [
        `${JSON.stringify(best.file)} names files in ${JSON.stringify(key)}, but no column looks like a class: name one as packing.annotations.label`,
      ],
    };
  const where = { ...(folder !== '' && { folder }), ...(prefix !== '' && { prefix }) };
  return { found: { file: best.file, key, label, ...where }, remedies };
}

/** Texts whose lines begin with names of files. @param paths few, and none of them a list of a split */
export async function textsAboutFiles(
  paths: readonly string[],
  data: readonly string[],
  store: TableReader,
): Promise<string[]> {
  const names = new Names(data.filter((path) => !paths.includes(path)));
  const found: string[] = [];
  for (const file of paths) {
    const lines = (await beginningOf(store, file)).split(/\r?\n/).filter((line) => line.trim() !== '');
    const naming = lines.filter((line) => names.placeOf(line.split(/[\s,;|]/)[0] ?? '') !== undefined);
    if (naming.length * 2 > lines.length)
      found.push(
        `${JSON.stringify(file)} names files, and only .csv, .tsv and .jsonl are read as tables: give it a header and such a suffix, and declare packing.annotations`,
      );
  }
  return found;
}

/** The first column of each table whose values are as wanted. */
export async function columnsWith(
  tables: readonly string[],
  store: TableReader,
  isWanted: (values: readonly string[]) => boolean,
): Promise<{ readonly file: string; readonly column: string }[]> {
  const found: { file: string; column: string }[] = [];
  for (const file of tables.slice(0, MOST_TABLES)) {
    const rows = rowsOf(file, await beginningOf(store, file));
    const column = [...(rows[0]?.keys() ?? [])].find((one) =>
      isWanted(rows.map((row) => row.get(one) ?? '')),
    );
    if (column !== undefined) found.push({ file, column });
  }
  return found;
}

/** Tables whose rows name folders of several files, such as the frames of a video. */
export async function tablesOfFolders(paths: readonly string[], store: TableReader): Promise<string[]> {
  const data = paths.filter((path) => !TABLE.test(path));
  const files = new Names(data);
  const folders = new Set(data.flatMap((path) => path.split('/').slice(-2, -1)));
  const found: string[] = [];
  for (const file of paths.filter((path) => TABLE.test(path)).slice(0, MOST_TABLES)) {
    const rows = rowsOf(file, await beginningOf(store, file));
    if (matched(rows, files) !== undefined) continue;
    const column = [...(rows[0]?.keys() ?? [])].find(
      // Folders of frames are numbered, those of classes are not.
      (one) =>
        rows.filter((row) => /\d/.test(row.get(one) ?? '') && folders.has(row.get(one) ?? '')).length * 2 >
        rows.length,
    );
    if (column !== undefined && labelColumn(rows, column) !== undefined)
      found.push(
        `${JSON.stringify(file)} names folders in ${JSON.stringify(column)}, and labels are matched to files: write a row for each file, and declare packing.annotations`,
      );
  }
  return found;
}

const BEGINNING_BYTES = 64 * 1024;

/** Whole lines at the beginning of a file; empty where it cannot be read. */
export async function beginningOf(store: TableReader, key: string): Promise<string> {
  const size = (await store.head(key))?.size ?? 0;
  const length = Math.min(size, BEGINNING_BYTES);
  const found = length === 0 ? undefined : await store.get(key, { range: { offset: 0, length } });
  if (found?.kind !== 'found') return '';
  const text = Buffer.concat(found.chunks)
    .toString('utf8')
    .replace(/^\uFEFF/, '');
  return length < size ? text.slice(0, text.lastIndexOf('\n') + 1) : text;
}

type Row = ReadonlyMap<string, string>;

function rowsOf(file: string, text: string): Row[] {
  const lines = text
    .split(/\r?\n/)
    .filter((line) => line.trim() !== '')
    .slice(0, MOST_ROWS + 1);
  if (!/\.[ct]sv$/i.test(file)) return lines.flatMap((line) => jsonRow(line) ?? []);
  const [header = '', ...rows] = lines;
  const [separator = ','] = [',', ';', '\t', '|'].toSorted(
    (a, b) => header.split(b).length - header.split(a).length,
  );
  const fields = (line: string): string[] =>
    line.split(separator).map((one) => one.replace(/^"(.*)"$/, '$1'));
  const columns = fields(header);
  return rows.map((row) => {
    const values = fields(row);
    return new Map(columns.map((column, at) => [column, values[at] ?? '']));
  });
}

function jsonRow(line: string): Row | undefined {
  try {
    const value: unknown = JSON.parse(line);
    if (typeof value !== 'object' || value === null) return undefined;
    return new Map(
      Object.entries(value).flatMap(([name, one]) =>
        typeof one === 'string' || typeof one === 'number' ? [[name, String(one)] as const] : [],
      ),
    );
  } catch {
    return undefined;
  }
}

interface Matched {
  readonly matched: number;
  readonly key: string;
  readonly label: string | undefined;
  readonly folder: string;
  readonly prefix: string;
}

/** Undefined if no column names files in most rows. */
function matched(rows: readonly Row[], names: Names): Matched | undefined {
  const [first] = rows;
  if (first === undefined) return undefined;
  const found = [...first.keys()].flatMap((key) => {
    const places = new Map<string, { count: number; place: Place }>();
    for (const row of rows) {
      const place = names.placeOf(row.get(key) ?? '');
      if (place === undefined) continue;
      const id = JSON.stringify(place);
      places.set(id, { count: (places.get(id)?.count ?? 0) + 1, place });
    }
    const [most] = [...places.values()].toSorted((a, b) => b.count - a.count);
    const all = [...places.values()].filter(({ place }) => place.prefix === most?.place.prefix);
    const matched = all.reduce((sum, { count }) => sum + count, 0);
    if (most === undefined || matched * 2 < rows.length) return [];
    return [{ key, ...most.place, matched, ...(most.count < matched && { folder: '*/' }) }];
  });
  const [best] = found.toSorted((a, b) => b.matched - a.matched);
  return best && { ...best, label: labelColumn(rows, best.key) };
}

function labelColumn(rows: readonly Row[], key: string): string | undefined {
  const others = [...(rows[0]?.keys() ?? [])].filter((column) => column !== key);
  const repeats = (column: string): boolean =>
    new Set(rows.map((row) => row.get(column))).size < Math.max(2, rows.length * 0.8);
  // Beside an x, y is a place in a picture.
  const isPlace = (column: string): boolean => /^y$/i.test(column) && others.some((one) => /^x$/i.test(one));
  const isFilled = (column: string): boolean =>
    rows.filter((row) => (row.get(column) ?? '') !== '').length * 2 > rows.length;
  const named = others.find(
    (column) => LABEL.test(column) && !isPlace(column) && isFilled(column) && repeats(column),
  );
  return (
    named ?? (others.length === 1 && others[0] !== undefined && repeats(others[0]) ? others[0] : undefined)
  );
}

/** What keys begin with and values do not, and what values begin with and keys do not. */
interface Place {
  readonly folder: string;
  readonly prefix: string;
}

/** The files by the last part of their names, with and without suffix. */
class Names {
  readonly #byLast = new Map<string, string[]>();

  constructor(paths: readonly string[]) {
    for (const path of paths)
      for (const name of new Set([path, splitKey(path, INNER_SUFFIXES).stem])) {
        const last = name.slice(name.lastIndexOf('/') + 1);
        const names = this.#byLast.get(last);
        if (names === undefined) this.#byLast.set(last, [name]);
        else names.push(name);
      }
  }

  placeOf(value: string): Place | undefined {
    const names = this.#byLast.get(value.slice(value.lastIndexOf('/') + 1)) ?? [];
    for (let start = 0; start >= 0 && names.length > 0; start = value.indexOf('/', start) + 1 || -1) {
      const tail = value.slice(start);
      const name = names.find((one) => one === tail) ?? names.find((one) => one.endsWith(`/${tail}`));
      const prefix = value.slice(0, start);
      if (name !== undefined && tail !== '')
        return { folder: name.slice(0, name.length - tail.length), prefix: prefix === './' ? '' : prefix };
    }
    return undefined;
  }
}
