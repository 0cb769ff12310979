/** Files that systems and tools leave beside a person's data. They are no samples, whatever else a folder holds. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';

/** `*` stands for any characters of one name. A name that ends with a slash is a folder, at any depth. */
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
