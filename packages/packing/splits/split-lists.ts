/** Lists of samples in text files under incoming/, which give each sample its split. */

import { namesOf, SPLITS, type SplitName } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { ConfigurationError, TransientError } from '@tidewheel/kit/errors.ts';
import { quoted } from '@tidewheel/kit/quoted.ts';
import { joinChunks } from '../documents/blob-store.ts';
import type { TableReader } from '../labels/annotations.ts';

/** All entries are held in memory. */
const MOST_LIST_BYTES = 64e6;

/** `a/b/c`, `b/c`, `c`. */
function tailsOf(path: string): string[] {
  const tails = [path];
  for (let at = path.indexOf('/'); at >= 0; at = path.indexOf('/', at + 1)) tails.push(path.slice(at + 1));
  return tails;
}
const withoutSuffix = (path: string): string => path.replace(/(?<=[^/])\.[A-Za-z0-9]{1,10}$/, '');

export class SplitLists {
  /** Names as they are listed. One that stands in the lists of two splits says nothing. */
  readonly #listed = new Map<string, SplitName | 'several'>();
  /** Ends of listed paths, for lists of a machine whose folder of the data lies deeper. */
  readonly #ends = new Map<string, SplitName | 'several'>();
  readonly keys: readonly string[];
  /** The split of a sample that no list names. */
  #rest: SplitName | undefined;
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
    lists.#rest = split.train === undefined ? 'train' : undefined;
    for (const { name, file } of files) {
      const key = `${incoming}${file}`;
      const head = await store.head(key);
      if (head === undefined) {
        // A list that is still to come may name any sample.
        lists.#rest = undefined;
        continue;
      }
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
      const written = line.trim();
      const entry = written.replace(/^\.?\//, '');
      if (entry === '' || entry.startsWith('#')) continue;
      // Many lists have a number or a label behind the name.
      const [name = ''] = entry.split(/[\s,;]/);
      for (const one of new Set([entry, name, withoutSuffix(name)])) note(this.#listed, one, split);
      const ends = tailsOf(withoutSuffix(name)).slice(1);
      // A folder of another machine need not agree, so its last part counts alone.
      const isAbsolute = written.startsWith('/');
      for (const one of ends)
        if (one.includes('/')) note(this.#ends, one, split);
        else if (isAbsolute) note(this.#listed, one, split);
    }
  }

  /**
   * By the whole key or the sample's name, or by their ends, which some lists have alone. Two samples may have one name
   * in folders of their own, so a listed folder has to agree.
   */
  of(key: string, stem: string): SplitName | undefined {
    const names = new Set([key, stem, withoutSuffix(key)]);
    const found = [...names].flatMap((one) => [
      ...tailsOf(one).flatMap((tail) => this.#listed.get(tail) ?? []),
      ...(this.#ends.get(one) === undefined ? [] : [this.#ends.get(one)]),
    ]);
    return found.length === 0 ? this.#rest : found.find((one) => one !== 'several');
  }
}

function note(names: Map<string, SplitName | 'several'>, one: string, split: SplitName): void {
  const known = names.get(one);
  names.set(one, known === undefined || known === split ? split : 'several');
}
