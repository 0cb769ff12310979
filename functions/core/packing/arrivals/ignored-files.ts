/** Files that systems and tools leave beside a person's data. They are no samples, whatever else a folder holds. */
import type { PackingSettings } from '../../pipeline/pipeline.ts';

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

const regExpOf = (name: string): string =>
  name.replace(/[\\^$.+?()[\]{}|]/g, String.raw`\$&`).replaceAll('*', '[^/]*');

/** Keys come without the incoming prefix. Case does not count. */
export function ignoredFiles({ ignore = [] }: Pick<PackingSettings, 'ignore'>): IsIgnored {
  if (ignore === 'none') return () => false;
  const all = [...WELL_KNOWN, ...ignore];
  const folders = all.filter((name) => name.endsWith('/')).map((name) => regExpOf(name.slice(0, -1)));
  const files = all.filter((name) => !name.endsWith('/')).map(regExpOf);
  const pattern = new RegExp(`(?:^|/)(?:(?:${folders.join('|')})/.*|(?:${files.join('|')}))$`, 'isu');
  return (key) => pattern.test(key);
}
