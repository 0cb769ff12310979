/** What lies in a folder of data, by its names. */
import type { LocalKey } from '@tidewheel/packing/layout.ts';
import type { TableReader } from './label-tables.ts';
import { besideData } from './layout.ts';
import { type DataLayoutFacts, describeLayout } from './layout-notes.ts';

export interface DataFacts {
  /** Relative to the project's folder, with slashes. */
  readonly folder: string;
  readonly files: number;
  /** Sum over the folder's files; undefined where no size is known. */
  readonly bytes?: number;
  readonly kind: 'images' | 'files' | 'text';
  /** The suffixes of most files, with their dots. */
  readonly suffixes: readonly string[];
  /** Those of all other files, which a script that reads the folder may need. */
  readonly otherSuffixes: readonly string[];
  /** What alone is data of that folder, where it has the code too: files and folders, which keep their names. */
  readonly places?: readonly string[];
  /** Those of the folder, its tables and the places that the script names itself. */
  readonly named?: readonly string[];
  /** The tables at its top. */
  readonly tables: readonly string[];
  /** The folders at its top. */
  readonly folders: readonly string[];
  /** Names of the folders that hold files, if these are labels. */
  readonly labels: readonly string[];
  /** Most files have a suffix that is not known here, so none is accepted alone. */
  readonly isUnknown?: true;
  /** How it is laid out, with what each field makes of it. */
  readonly layout?: DataLayoutFacts;
}

const IMAGES = ['.png', '.jpg', '.jpeg', '.webp', '.gif', '.bmp', '.tif', '.tiff'];
const LINES = ['.csv', '.jsonl', '.ndjson', '.txt'];
const OTHERS =
  `.wav .flac .mp3 .ogg .opus .m4a .aac .mp4 .mov .avi .mkv .webm .npy .npz .parquet .arrow .feather .json .xml
  .yaml .yml .html .tsv .avif .heic .jp2 .jxl .dng .svg .nii .nii.gz .dcm .mha .mhd .nrrd .svs .ndpi .mrxs .edf .mat
  .h5 .hdf5 .nc .grib .grib2 .zarr .las .laz .ply .pcd .xyz .obj .off .bin .label .tfrecord .tfrecords .rec .pt .pkl
  .safetensors .spacy .conll .conllu .lmdb .xlsx .bag .geojson .fasta .fa .fastq .pdb .cif .mid .midi .srt .vtt .cls .caption`
    .trim()
    .split(/\s+/);
const DATA = [...IMAGES, ...LINES, ...OTHERS];
/** Such files alone are no data, nor are those that lie beside code. */
const CODE =
  /\.(py|pyc|pyi|pyx|md|rst|sh|bash|cfg|toml|ini|ipynb|c|cc|cpp|cu|h|hpp|js|ts|tsx|css|rs|go|java|jl|r|lock|so|egg|whl)$|(^|\/)(licen[cs]e|dockerfile|makefile)$/i;
/** Where fewer files than this share have a known suffix, what is known is not what a person means. */
const KNOWN_SHARE = 0.5;
/** A suffix of fewer files than this share is no part of the data. */
const LEAST_SHARE = 0.01;

/** A table or a document that says something of the other files. */
const ABOUT = ['.csv', '.tsv', '.jsonl', '.ndjson', '.json'];
const LEAST_SHARE_ABOUT = 0.3;

const leastShare = (suffix: string): number => (ABOUT.includes(suffix) ? LEAST_SHARE_ABOUT : LEAST_SHARE);

/** @param paths relative to the folder, with slashes. @returns undefined where there is no data */
export function dataIn(folder: string, paths: readonly string[]): DataFacts | undefined {
  const counts = new Map<string, number>();
  for (const path of paths) {
    const suffix = suffixOf(path);
    if (DATA.includes(suffix.toLowerCase())) counts.set(suffix, (counts.get(suffix) ?? 0) + 1);
  }
  const known = [...counts.values()].reduce((sum, count) => sum + count, 0);
  const files = known > 0 ? known : paths.filter((path) => !CODE.test(path)).length;
  const isUnknown = known < KNOWN_SHARE * paths.length;
  if (files === 0) return undefined;
  const suffixes = [...counts]
    .filter(([suffix, count]) => count / files >= leastShare(suffix.toLowerCase()))
    .toSorted(([, one], [, other]) => other - one)
    .map(([suffix]) => suffix);
  const are = (known: readonly string[]) => suffixes.every((suffix) => known.includes(suffix.toLowerCase()));
  return {
    folder,
    files,
    kind:
      suffixes.length > 0 && are(IMAGES) ? 'images' : suffixes.length > 0 && are(LINES) ? 'text' : 'files',
    suffixes,
    otherSuffixes: [...new Set(paths.map(suffixOf))].filter((one) => one !== '' && !suffixes.includes(one)),
    tables: paths.filter((path) => !path.includes('/') && TABLES.test(path)),
    folders: [
      ...new Set(paths.flatMap((path) => (path.includes('/') ? path.slice(0, path.indexOf('/')) : []))),
    ],
    labels: labelsOf(paths.filter((path) => suffixes.some((suffix) => path.endsWith(suffix)))),
    ...(isUnknown && { isUnknown }),
  };
}

const TABLES = /\.(csv|tsv|parquet|jsonl|ndjson|json|feather|arrow|txt)$/i;

/** As a person calls it. */
export const placeText = ({ folder, places }: DataFacts): string => places?.join(', ') ?? `${folder}/`;

const suffixOf = (path: string): string =>
  /\.[A-Za-z0-9]{1,10}\.(gz|bz2|xz|zst)$|\.[A-Za-z0-9]{1,20}$/.exec(path)?.[0] ?? '';

/** The parent folders, if every file has one and there are several. */
function labelsOf(paths: readonly string[]): string[] {
  const parents = new Set(paths.map((path) => path.split('/').at(-2) ?? ''));
  return parents.has('') || parents.size < 2 ? [] : [...parents].toSorted();
}

/**
 * @param store has the folder's files by their keys
 * @param beside names of all files of the project
 */
export async function withLayout(
  store: TableReader,
  data: DataFacts,
  { files, beside }: { readonly files: readonly LocalKey[]; readonly beside: readonly string[] },
): Promise<DataFacts> {
  const found = await describeLayout(store, data.isUnknown === true ? undefined : data.suffixes, files);
  const remedies = [...besideData(beside, data.folder), ...found.remedies];
  const bytes = files.reduce((sum, { size }) => sum + size, 0);
  return { ...data, bytes, labels: found.classes, layout: { ...found, remedies } };
}
