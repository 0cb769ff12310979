/**
 * Rejections that follow from the declaration and the key alone, or from a kind of label that is declared. Once the
 * declaration is another one, such an arrival may be packed after all.
 */

import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import type { ListedBlob } from '../documents/blob-store.ts';
import type { Manifest } from '../documents/manifest.ts';
import type { Rejection } from '../documents/rejections.ts';

/**
 * Files that systems and tools leave beside a person's data. They are no samples, whatever else a folder holds. `*`
 * stands for any characters of one name. A name that ends with a slash is a folder, at any depth.
 */
const WELL_KNOWN = [
  // macOS, also as archives and other systems bring it
  '.DS_Store',
  '._*',
  '__MACOSX/',
  '.Spotlight-V100/',
  '.Trashes/',
  '.fseventsd/',
  // Windows, Synology and GNOME
  'Thumbs.db',
  'ehthumbs.db',
  'desktop.ini',
  '$RECYCLE.BIN/',
  'System Volume Information/',
  '@eaDir/',
  '.directory',
  // Jupyter, Python and git
  '.ipynb_checkpoints/',
  '__pycache__/',
  '.git/',
  '.gitkeep',
  '.gitignore',
  '.gitattributes',
  // Hadoop, Spark and Databricks
  '_SUCCESS',
  '_temporary/',
  '_committed_*',
  '_started_*',
  '*.crc',
  // unfinished uploads, downloads and edits
  '*.tmp',
  '*.part',
  '*.partial',
  '*.crdownload',
  '*.swp',
  '*~',
  '~$*',
  '.~lock.*',
];

export type IsIgnored = (key: string) => boolean;

/**
 * Between two stars, a part counts where it comes first. No search for another place follows, so that a name with many
 * stars does not take for ever.
 * @param place of the name in the list
 */
function regExpOf(name: string, place: number): string {
  const escaped = name.replace(/[\\^$.+?()[\]{}|]/g, String.raw`\$&`);
  const [first = '', ...parts] = escaped.split('*');
  const last = parts.pop();
  if (last === undefined) return first;
  const between = parts.map((part, at) => `(?=(?<p${place}_${at}>[^/]*?${part}))\\k<p${place}_${at}>`);
  return `${first}${between.join('')}[^/]*${last}`;
}

/** Keys come without the incoming prefix. Case does not count. */
export function ignoredFiles({ ignore = [] }: Pick<PackingSettings, 'ignore'>): IsIgnored {
  if (ignore === 'none') return () => false;
  const all = [...WELL_KNOWN, ...ignore];
  const expressions = all.map((name, place) => regExpOf(name.replace(/\/$/, ''), place));
  const folders = expressions.filter((_, place) => all[place]?.endsWith('/'));
  const files = expressions.filter((_, place) => !all[place]?.endsWith('/'));
  const pattern = new RegExp(`(?:^|/)(?:(?:${folders.join('|')})/.*|(?:${files.join('|')}))$`, 'isu');
  return (key) => pattern.test(key);
}

const OF_ARCHIVES: readonly Rejection[] = ['unpacked', 'archiveRefused'];
const DECLARED = ['ignored', 'suffixNotAccepted', 'labelNotAnInteger', ...OF_ARCHIVES] as const;

const isAccepted = (key: string, { accept }: Pick<PackingSettings, 'accept'>): boolean =>
  accept?.some((suffix) => key.toLowerCase().endsWith(suffix.toLowerCase())) ?? true;

/** Whether a rejection of an earlier run does not hold under the present declaration. */
export type IsLapsed = (key: string, reason: Rejection) => boolean;

export interface Declared {
  readonly incoming: string;
  readonly settings: PackingSettings;
  /** Of keys without the incoming prefix. */
  readonly isIgnored: IsIgnored;
}

export const lapsedUnder =
  ({ incoming, settings, isIgnored }: Declared): IsLapsed =>
  (key, reason) => {
    if (reason === 'ignored') return !isIgnored(key.slice(incoming.length));
    if (reason === 'suffixNotAccepted') return isAccepted(key.slice(incoming.length), settings);
    if (OF_ARCHIVES.includes(reason)) return settings.archives !== 'unpack';
    return reason === 'labelNotAnInteger' && settings.labelType !== 'integer';
  };

/** The part of a declaration from which these rejections follow, for a comparison. */
export const rejectingRules = ({ accept, archives, ignore, labelType }: PackingSettings): string =>
  JSON.stringify({ accept, archives, ignore, labelType });

export const hasDeclaredRejections = (manifests: readonly Manifest[]): boolean =>
  manifests.some(({ rejections }) => DECLARED.some((reason) => rejections.byReason[reason] !== undefined));

/** A larger object cannot be packed within a Lambda's 15 minutes. */
const LARGEST_OBJECT_BYTES = 40e9;

/** As people's programs leave it in a bucket: S3's console `a/`, and Hadoop and EMR `a_$folder$`. */
const isFolder = (key: string): boolean => key.endsWith('/') || key.endsWith('_$folder$');

/** Why an arrival is rejected as soon as it is listed, by its key and size alone. */
export function keyRejection(
  key: string,
  object: ListedBlob,
  {
    settings,
    isIgnored,
  }: { readonly settings: Pick<PackingSettings, 'accept'>; readonly isIgnored?: IsIgnored | undefined },
): Rejection | undefined {
  if (object.refused !== undefined) return object.refused;
  if (isIgnored?.(key) === true) return 'ignored';
  if (object.size === 0 && isFolder(key)) return 'folderPlaceholder';
  if (!isAccepted(key, settings)) return 'suffixNotAccepted';
  return object.size > LARGEST_OBJECT_BYTES ? 'tooLarge' : undefined;
}
