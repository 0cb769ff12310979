/** Lists of samples in text files under incoming/, which give each sample its split. */

import { namesOf, SPLITS, type SplitName } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { ConfigurationError, TransientError } from '@tidewheel/kit/errors.ts';
import { quoted } from '@tidewheel/kit/quoted.ts';
import { joinChunks } from '../documents/blob-store.ts';
import type { TableReader } from '../labels/annotations.ts';

/** All entries are held in memory. */
const MOST_LIST_BYTES = 64e6;

const baseOf = (path: string): string => path.slice(path.lastIndexOf('/') + 1);
const withoutSuffix = (path: string): string => path.replace(/(?<=[^/])\.[A-Za-z0-9]{1,10}$/, '');

export class SplitLists {
  /** A name that stands in the lists of two splits says nothing. */
  readonly #splits = new Map<string, SplitName | 'several'>();
  readonly keys: readonly string[];
  /** Tells versions of the files apart. */
  version = '';

  private constructor(keys: readonly string[]) {
    this.keys = keys;
  }

  /**
   * Undefined for another kind of split. A list that is not there yet has no entries.
   * @throws ConfigurationError for a list that is too large
   */
  static async open(
    store: TableReader,
    { split }: PackingSettings,
    incoming: string,
  ): Promise<SplitLists | undefined> {
    if (split?.by !== 'list') return undefined;
    const files = SPLITS.flatMap((name) => namesOf(split, name).map((file) => ({ name, file })));
    const lists = new SplitLists(files.map(({ file }) => `${incoming}${file}`));
    for (const { name, file } of files) {
      const key = `${incoming}${file}`;
      const head = await store.head(key);
      if (head === undefined) continue;
      if (head.size > MOST_LIST_BYTES)
        throw new ConfigurationError(
          `packing.split.${name} names ${quoted(file)}, which has more than ${MOST_LIST_BYTES / 1e6} MB: divide the samples among folders, and write by: folder`,
        );
      const found = await store.get(key, head.etag === '' ? {} : { ifMatch: head.etag });
      if (found.kind !== 'found')
        throw new TransientError(`${key} changed while it was read; the next try reads its new version`);
      lists.version += `${file}@${head.etag} `;
      lists.#add(name, Buffer.from(joinChunks(found.chunks)).toString('utf8'));
    }
    return lists;
  }

  #add(split: SplitName, text: string): void {
    for (const line of text.replace(/^\uFEFF/, '').split(/\r?\n/)) {
      const entry = line.trim().replace(/^\.?\//, '');
      if (entry === '' || entry.startsWith('#')) continue;
      // Many lists have a number or a label behind the name.
      const [name = ''] = entry.split(/[\s,;]/);
      for (const one of new Set([entry, name, withoutSuffix(name), baseOf(withoutSuffix(name))])) {
        const known = this.#splits.get(one);
        this.#splits.set(one, known === undefined || known === split ? split : 'several');
      }
    }
  }

  /** By the whole key, the sample's name, or its last part, which some lists have alone. */
  of(key: string, stem: string): SplitName | undefined {
    for (const one of [key, stem, withoutSuffix(key), baseOf(stem)]) {
      const found = this.#splits.get(one);
      if (found !== undefined && found !== 'several') return found;
    }
    return undefined;
  }
}
