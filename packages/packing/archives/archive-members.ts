/** Writes the files of one archive as bundles. Nothing of it is an arrival before `commit`. */

import { buffer } from 'node:stream/consumers';
import { type BundledFile, isAllowed, makeBundle } from '../arrivals/bundle-index.ts';
import { inBundleOrder } from '../arrivals/bundle-order.ts';
import { bundleKeys, LARGEST_MEMBER_BYTES } from '../arrivals/bundle-place.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import { isArchive } from '../documents/member-names.ts';
import { ArchiveRefusedError } from './archive-bounds.ts';
import type { ArchiveEntry } from './archive-entries.ts';

/** Files are shuffled among so many bytes: an archive often has one class after the other. */
const HELD_BYTES = 512 * 1024 * 1024;
const BUNDLE_BYTES = 64 * 1024 * 1024;
const BUNDLE_FILES = 100_000;
const HELD_FILES = 200_000;

interface NamingRules {
  /** What the archive's key says below incoming/. */
  readonly archive: string;
  /** Bytes of what stands before each key. */
  readonly prefixBytes: number;
  readonly depth: number;
  /** Keys below incoming/ that the service reads as objects of their own. */
  readonly apart: readonly string[];
}

/** The keys of an archive's files, below incoming/. */
export class MemberNames {
  readonly #rules: NamingRules;
  /** `a/train.tar.gz` unpacks below `a/train/`. */
  readonly #folder: string;
  readonly keys = new Set<string>();

  constructor(rules: NamingRules) {
    this.#rules = rules;
    this.#folder = `${rules.archive.replace(/\.(zip|tgz|tar|tar\.gz)$/i, '')}/`;
  }

  take({ name, size }: Pick<ArchiveEntry, 'name' | 'size'>): string {
    const key = this.#folder + name.replace(/^(\.\/)+/, '');
    const { depth, prefixBytes, apart } = this.#rules;
    const refuse = (reason: ConstructorParameters<typeof ArchiveRefusedError>[0], what: string): never => {
      throw new ArchiveRefusedError(reason, `${JSON.stringify(name)} ${what}`);
    };
    if (key.split('/').length - 1 > depth) refuse('name', `lies in more than ${depth} folders`);
    if (!isAllowed(key, prefixBytes)) refuse('name', `in it is no name of a file below ${this.#folder}`);
    if (apart.includes(key)) refuse('apart', 'in it is read as an object of its own');
    if (size > LARGEST_MEMBER_BYTES) refuse('tooLarge', `in it has more than ${LARGEST_MEMBER_BYTES} bytes`);
    if (isArchive(key)) refuse('archive', 'in it is an archive itself');
    if (this.keys.has(key)) refuse('name', 'is in it twice');
    this.keys.add(key);
    return key;
  }
}

interface WritingRules extends NamingRules {
  readonly pipeline: string;
  /** Names the archive's version, to which the bundles belong alone. */
  readonly owner: string;
  readonly shuffle: boolean;
  /** Called before a bundle is written. @param ids of all so far */
  readonly note: (ids: readonly string[]) => Promise<unknown>;
  readonly see: (bytes: number) => void;
}

export class ArchiveMembers {
  readonly #store: BlobStore;
  readonly #rules: WritingRules;
  readonly names: MemberNames;
  #held: BundledFile[] = [];
  #heldBytes = 0;
  readonly #indexes: { readonly key: string; readonly body: Uint8Array }[] = [];
  readonly bundles: string[] = [];

  constructor(store: BlobStore, rules: WritingRules) {
    this.#store = store;
    this.#rules = rules;
    this.names = new MemberNames(rules);
  }

  async add(entry: ArchiveEntry): Promise<void> {
    const key = this.names.take(entry);
    const body = await buffer(this.#seen(entry));
    this.#held.push({ key, body });
    this.#heldBytes += body.length;
    if (this.#heldBytes > HELD_BYTES || this.#held.length >= HELD_FILES) await this.flush();
  }

  /** Each file becomes an arrival. Safe to repeat. */
  async commit(): Promise<void> {
    for (const { key, body } of this.#indexes)
      await this.#store.put(key, body, { contentType: 'application/gzip' });
  }

  async *#seen({ chunks }: Pick<ArchiveEntry, 'chunks'>): AsyncGenerator<Uint8Array> {
    for await (const chunk of chunks) {
      this.#rules.see(chunk.length);
      yield chunk;
    }
  }

  /** Writes what is held. To be called once more behind the last file. */
  async flush(): Promise<void> {
    const files = inBundleOrder(this.#held, ({ key }) => key, this.#rules.shuffle);
    this.#held = [];
    this.#heldBytes = 0;
    for (let first = 0; first < files.length; ) {
      let [last, bytes] = [first, 0];
      while (last < files.length && last - first < BUNDLE_FILES && bytes <= BUNDLE_BYTES) {
        bytes += files[last]?.body.length ?? 0;
        last += 1;
      }
      await this.#putBundle(files.slice(first, last));
      first = last;
    }
  }

  async #putBundle(files: readonly BundledFile[]): Promise<void> {
    const { id, data, index } = makeBundle(files, this.#rules.owner);
    const keys = bundleKeys(this.#rules.pipeline, id);
    this.bundles.push(id);
    await this.#rules.note(this.bundles);
    await this.#store.put(keys.data, data);
    this.#indexes.push({ key: keys.index, body: index });
  }
}
