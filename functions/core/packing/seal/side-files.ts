/**
 * Files beside the shards that particular readers want, derived from what is sealed: anybody who writes them writes
 * the same bytes. They lie in the generation's folder, not among the shards.
 */
import { shardsFolder } from '../../shared/keys.ts';
import { type MdsSettings, mdsConfig } from '../formats/mds.ts';
import { RECORD_HEAD_BYTES } from '../formats/recordio.ts';
import type { Manifest, MemberLine } from '../model/documents.ts';
import { LineText } from '../model/line-text.ts';
import type { PlanFacts } from '../model/shard-format.ts';

export interface SideFile {
  /** Relative to the generation's folder. */
  readonly name: string;
  readonly body: Uint8Array;
}

type Shard = Manifest['shards'][number];
const jsonLine = (value: object): Buffer => Buffer.from(`${JSON.stringify(value)}\n`);
const indexName = (shard: Shard): string => `index/${shard.name.replace(/\.[^.]+$/, '')}.idx`;

/** Takes a shard's member list line by line. */
export interface IndexOfShard {
  add(line: MemberLine): void;
  /** After the last line. */
  file(): SideFile;
}

/**
 * DALI's index of one tar: `v1.2 <samples>`, then suffix, offset, size and name of every member of a sample. DALI splits
 * at blanks and finds members by their offsets alone, so a blank in a name is written as `_`. Members of a sample lie
 * next to each other.
 */
class DaliIndex implements IndexOfShard {
  readonly #name: string;
  readonly #rows = new LineText();
  #row = '';
  #stem: string | undefined;

  constructor(shard: Shard) {
    this.#name = indexName(shard);
  }

  add({ name, offset, size }: MemberLine): void {
    const dot = name.indexOf('.', name.lastIndexOf('/') + 1);
    const stem = name.slice(0, dot);
    const member = `${name.slice(dot + 1)} ${offset} ${size} ${name.replaceAll(' ', '_')}`;
    if (stem === this.#stem) this.#row += ` ${member}`;
    else {
      this.#endRow();
      this.#stem = stem;
      this.#row = member;
    }
  }

  file(): SideFile {
    this.#endRow();
    const head = Buffer.from(`v1.2 ${this.#rows.lines}\n`);
    return { name: this.#name, body: Buffer.concat([head, this.#rows.bytes]) };
  }

  #endRow(): void {
    if (this.#stem !== undefined) this.#rows.add(this.#row);
    this.#stem = undefined;
  }
}

/** MXNet's index: number of the record, a tab, its first byte. */
class RecordioIndex implements IndexOfShard {
  readonly #name: string;
  readonly #rows = new LineText();

  constructor(shard: Shard) {
    this.#name = indexName(shard);
  }

  add({ column, offset }: MemberLine): void {
    if (column !== 'label') this.#rows.add(`${this.#rows.lines}\t${offset - RECORD_HEAD_BYTES}`);
  }

  file(): SideFile {
    return { name: this.#name, body: this.#rows.bytes };
  }
}

/** What makes the index of one shard, for the formats that have one. */
export function indexOf(format: string, shard: Shard): IndexOfShard | undefined {
  if (format === 'webdataset') return new DaliIndex(shard);
  return format === 'recordio' ? new RecordioIndex(shard) : undefined;
}

/** Index of one shard whose lines are at hand. */
export function shardIndex(format: string, shard: Shard, lines: Iterable<MemberLine>): SideFile | undefined {
  const index = indexOf(format, shard);
  if (index !== undefined) for (const line of lines) index.add(line);
  return index?.file();
}

/** `wids` index: random access over the shards of WebDataset's own library. */
function widsIndex({ generation: name, shards, revision }: Sealed): SideFile {
  const shardlist = shards.map(({ name, samples, bytes }) => ({
    url: `${shardsFolder(revision)}${name}`,
    nsamples: samples,
    filesize: bytes,
  }));
  return { name: 'wids.json', body: jsonLine({ wids_version: 1, name, shardlist }) };
}

/** streaming's index.json: written before the manifest, after every shard. */
function mdsIndex({ settings, facts, shards, revision }: Sealed): SideFile {
  const config = mdsConfig(settings, facts);
  const entries = shards.map(({ name, samples, bytes }) => ({
    ...config,
    raw_data: { basename: `${shardsFolder(revision)}${name}`, bytes, hashes: {} },
    samples,
    zip_data: null,
  }));
  return { name: 'index.json', body: jsonLine({ shards: entries, version: 2 }) };
}

export interface Sealed {
  readonly generation: string;
  readonly settings: MdsSettings & { readonly format: string };
  readonly facts: PlanFacts;
  /** Of the plan. */
  readonly revision?: string | undefined;
  readonly shards: readonly Shard[];
}

/** The index over all shards, for the formats that have one. */
export function datasetIndex(sealed: Sealed): SideFile | undefined {
  const { format } = sealed.settings;
  if (format === 'webdataset') return widsIndex(sealed);
  return format === 'mds' ? mdsIndex(sealed) : undefined;
}
