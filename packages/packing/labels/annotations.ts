/** Labels from a file of annotations. The file is streamed once for its labels, and once for the audit of its rows. */

import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { ConfigurationError, TransientError } from '@tidewheel/kit/errors.ts';
import { quoted } from '@tidewheel/kit/quoted.ts';
import { type BlobStore } from '../documents/blob-store.ts';
import { CompressedLines, compress } from '../documents/compressed-lines.ts';
import { type Naming, sampleKey } from '../documents/sample-names.ts';
import { type AnnotationRow, rowReader } from './annotation-rows.ts';
import { LabelTable } from './label-table.ts';

const PIECE_BYTES = 8 * 1024 * 1024;

type RowProblem = 'unknownKey' | 'doubledSameLabel' | 'doubledOtherLabel' | 'brokenRow';

/** A line of the list of problems: number of the row, its key, what is wrong. */
type RowProblemLine = readonly [number, string, RowProblem];

export interface AnnotationAudit {
  readonly rows: number;
  readonly byProblem: Readonly<Partial<Record<RowProblem, number>>>;
  /** What the first row says that names no object, as a key. */
  readonly unknown?: string | undefined;
  /** Compressed lines of RowProblemLine; undefined if there is no problem. */
  readonly problems: Buffer | undefined;
}

export type LabelOfMember =
  | { readonly kind: 'label'; readonly label: string }
  | { readonly kind: 'doubled' }
  | undefined;

/** Reads files beside the data. */
export type TableReader = Pick<BlobStore, 'head' | 'get'>;

/** Rows name files alone, wherever they lie. */
const ANY_FOLDER = '*/';

type Declared = NonNullable<PackingSettings['annotations']> & { readonly naming: Naming };

interface Source {
  readonly key: string;
  readonly etag: string;
  readonly size: number;
}

/** The file of annotations as it was when the plan began. */
export class Annotations {
  readonly #store: TableReader;
  readonly #settings: Declared;
  readonly #source: Source | undefined;
  readonly #table = new LabelTable();
  readonly key: string;

  private constructor(
    store: TableReader,
    settings: Declared,
    at: { key: string; source: Source | undefined },
  ) {
    this.#store = store;
    this.#settings = settings;
    this.#source = at.source;
    this.key = at.key;
  }

  /** Undefined when the pipeline takes its labels elsewhere. A file that is not there yet has no rows. */
  static async open(
    store: TableReader,
    packing: PackingSettings,
    incoming: string,
  ): Promise<Annotations | undefined> {
    if (packing.label !== 'annotations' || packing.annotations === undefined) return undefined;
    const key = `${incoming}${packing.annotations.file}`;
    const head = await store.head(key);
    const source = head === undefined ? undefined : { key, etag: head.etag, size: head.size };
    const annotations = new Annotations(store, { ...packing.annotations, naming: packing }, { key, source });
    for await (const row of annotations.#rows())
      if (row.kind === 'row') annotations.#table.add(row.key, row.label);
    return annotations;
  }

  /**
   * Tells versions of the file apart, and the columns that are read. Under another one, samples that were rejected for
   * their labels are tried again, and packed labels are compared.
   */
  get version(): string {
    const { file, key, label, folder, prefix } = this.#settings;
    const matched = folder === undefined && prefix === undefined ? [] : [folder, prefix];
    return `${file}@${this.#source?.etag ?? 'absent'} ${JSON.stringify([key, label, ...matched])}`;
  }

  /** The label of a listed key (without the incoming prefix), from its own row or from its sample's. */
  labelOf(key: string): LabelOfMember {
    return this.#find(key, true);
  }

  /** The one label of a packed sample, of which not every key needs to be listed. */
  labelOfSample(keys: readonly string[]): string | undefined {
    const [first, ...others] = keys.flatMap((key) => this.#find(key, false) ?? []);
    if (first?.kind !== 'label') return undefined;
    const isOne = others.every((other) => other.kind === 'label' && other.label === first.label);
    return isOne ? first.label : undefined;
  }

  #find(whole: string, isListed: boolean): LabelOfMember {
    const key = this.#settings.folder === ANY_FOLDER ? whole.slice(whole.lastIndexOf('/') + 1) : whole;
    const own = this.#table.find(key, isListed);
    const { stem } = sampleKey(key, this.#settings.naming);
    const common = stem === key ? undefined : this.#table.find(stem, isListed);
    if (own === undefined || common === undefined) return own ?? common;
    return own.kind === 'label' && common.kind === 'label' && own.label === common.label
      ? own
      : { kind: 'doubled' };
  }

  /** Reads the rows again. Call it after labelOf() was called for every listed key. */
  async audit(): Promise<AnnotationAudit> {
    const problemLines = new CompressedLines(compress);
    const byProblem: Partial<Record<RowProblem, number>> = {};
    const note = (row: AnnotationRow, problem: RowProblem): void => {
      byProblem[problem] = (byProblem[problem] ?? 0) + 1;
      problemLines.add(JSON.stringify([row.row, row.key, problem] satisfies RowProblemLine));
    };
    const seen = new LabelTable();
    let rows = 0;
    let unknown: string | undefined;
    for await (const row of this.#rows()) {
      rows += 1;
      if (row.kind === 'broken') {
        note(row, 'brokenRow');
        continue;
      }
      if (seen.add(row.key, '.') !== 'new')
        note(row, this.#table.isDoubled(row.key) ? 'doubledOtherLabel' : 'doubledSameLabel');
      if (this.#table.wasLookedUp(row.key)) continue;
      unknown ??= row.key;
      note(row, 'unknownKey');
    }
    return {
      rows,
      byProblem,
      unknown,
      problems: problemLines.lines === 0 ? undefined : Buffer.concat(problemLines.parts()),
    };
  }

  async *#rows(): AsyncGenerator<AnnotationRow> {
    if (this.#source === undefined) return;
    const reader = rowReader(this.#settings.file, this.#settings);
    const decoder = new TextDecoder('utf-8', { fatal: true });
    for (let offset = 0; offset < this.#source.size; offset += PIECE_BYTES) {
      for (const chunk of await this.#piece(this.#source, offset))
        yield* this.#keyed(reader.push(this.#decoded(() => decoder.decode(chunk, { stream: true }))));
    }
    yield* this.#keyed(reader.push(this.#decoded(() => decoder.decode())));
    yield* this.#keyed(reader.end());
  }

  /** What the rows name, as keys. */
  *#keyed(rows: Iterable<AnnotationRow>): Generator<AnnotationRow> {
    const { prefix = './', folder: declared = '' } = this.#settings;
    const folder = declared === ANY_FOLDER ? '' : declared;
    for (const row of rows) {
      const name = row.key.startsWith(prefix) ? row.key.slice(prefix.length) : row.key;
      yield row.key === '' ? row : { ...row, key: `${folder}${name}` };
    }
  }

  /** Different labels of another encoding would read as the same one. @throws ConfigurationError */
  #decoded(decode: () => string): string {
    try {
      return decode();
    } catch (error: unknown) {
      if (!(error instanceof TypeError)) throw error;
      throw new ConfigurationError(
        `packing.annotations.file ${quoted(this.#settings.file)} is no UTF-8: save it again in that encoding (in Excel "CSV UTF-8"), and drop it again`,
      );
    }
  }

  async #piece({ key, etag, size }: Source, offset: number): Promise<readonly Uint8Array[]> {
    const length = Math.min(PIECE_BYTES, size - offset);
    const found = await this.#store.get(key, { ifMatch: etag, range: { offset, length } });
    if (found.kind === 'found') return found.chunks;
    throw new TransientError(`${key} changed while it was read; the next try reads its new version`);
  }
}
