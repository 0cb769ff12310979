/**
 * The proof of the seal. Plan, records and member lists are compared sample by sample: everything planned is in
 * exactly one shard, rejected with a reason, or left to the next generation; and nothing else is in a shard.
 */
import { hash } from 'node:crypto';
import { type BlobStore, joinChunks } from '../model/blob-store.ts';
import { NOWHERE } from '../model/division.ts';
import {
  type ArrivalLine,
  arrivalLine,
  type Manifest,
  type MemberLine,
  type Plan,
  type SealedLine,
  type ShardRecord,
} from '../model/documents.ts';
import type { Excluded, Exclusions } from '../model/exclusions.ts';
import { KeySum } from '../model/key-sum.ts';
import { LineText } from '../model/line-text.ts';
import type { Places } from '../model/packing-keys.ts';
import { type Rejection } from '../model/rejections.ts';
import { compress, decompress, linesOf } from '../model/spool.ts';
import { CopyCounter } from '../shard/copy-counter.ts';

export interface Books {
  readonly at: Places;
  readonly plan: Plan;
  readonly records: readonly Omit<ShardRecord, 'exclusions'>[];
  readonly exclusions: Exclusions;
  /** Who sees the member list of this shard, line by line. */
  readonly observer?: (record: Pick<ShardRecord, 'name'>) => MemberObserver;
}

export interface MemberObserver {
  see(line: MemberLine): void;
  /** After the last line. */
  end(): Promise<void>;
}

export interface Accounts {
  /** Copies of samples. */
  readonly repeated: number;
  readonly arrivals: Manifest['arrivals'];
  readonly rejections: Manifest['rejections'];
}

/** The books do not balance: a defect or a damaged bucket, never mended by another try. */
export class AccountsDifferError extends Error {
  override readonly name = 'AccountsDifferError';
  constructor(runId: string, difference: string) {
    super(
      `${runId} cannot be sealed: ${difference}. Nothing is deleted; remove the run's plan folder and pack again`,
    );
  }
}

const MOST_EXAMPLES = 100;

export async function accountArrivals(store: BlobStore, books: Books): Promise<Accounts> {
  const packed = new KeySum();
  const repeated = new CopyCounter();
  const shardOf = await readMembers(store, books, { packed, repeated });
  const { exclusions } = books;
  for (const sample of books.plan.dropped) exclusions.add({ sample, outcome: 'left', members: [] });
  const writer = new ArrivalsWriter(store, books.at);
  const planned = new KeySum();
  const rejected = new KeySum();
  const settle = ([key, size, etag, sample]: ArrivalLine): Promise<void> | undefined => {
    if (typeof sample === 'string') return writer.rejected([key, etag, size, sample]);
    const exclusion = exclusions.of(sample);
    if (exclusion?.outcome === 'rejected') rejected.add(key, '');
    if (exclusion !== undefined) return settleExcluded(writer, exclusion, [key, etag, size]);
    planned.add(key, etag);
    return writer.packed([key, etag, size, shardOf[sample] ?? NOWHERE]);
  };
  for (let part = 0; part < books.plan.arrivalParts; part += 1) {
    for (const line of linesOf(await readLines(store, books.at.planArrivals(books.plan, part)))) {
      const full = settle(parseArrival(line));
      if (full !== undefined) await full;
    }
  }
  if (!planned.equals(packed)) {
    throw new AccountsDifferError(
      books.plan.runId,
      `${planned.count} objects should be in shards, ${packed.count} are, or others`,
    );
  }
  if (!rejected.equals(exclusions.rejected)) {
    throw new AccountsDifferError(
      books.plan.runId,
      `${exclusions.rejected.count} members of samples were rejected while they were read, ${rejected.count} are planned, or others`,
    );
  }
  return { ...(await writer.finish(books.plan.objects)), repeated: repeated.count };
}

/** The common kind of line at once, everything else by its schema. */
function parseArrival(line: string): ArrivalLine {
  const value: unknown = JSON.parse(line);
  return isTakenUp(value) ? value : arrivalLine.parse(value);
}

const isTakenUp = (value: unknown): value is [string, number, string, number, 0 | 1] =>
  Array.isArray(value) &&
  value.length === 5 &&
  typeof value[0] === 'string' &&
  typeof value[1] === 'number' &&
  typeof value[2] === 'string' &&
  typeof value[3] === 'number' &&
  (value[4] === 0 || value[4] === 1);

async function settleExcluded(
  writer: ArrivalsWriter,
  exclusion: Excluded,
  [key, etag, size]: [string, string, number],
): Promise<void> {
  const reason = exclusion.reasonOf(key);
  if (exclusion.outcome === 'left') writer.left += 1;
  else if (reason === undefined || reason === 'changed' || reason === 'deleted' || reason === 'sampleLeft') {
    throw new AccountsDifferError(key, 'a rejected sample names no reason for this member');
  } else await writer.rejected([key, etag, size, reason]);
}

export async function readLines(store: BlobStore, key: string): Promise<string> {
  const found = await store.get(key);
  if (found.kind !== 'found') throw new AccountsDifferError(key, 'this list is gone');
  return decompress(joinChunks(found.chunks));
}

interface Seen {
  readonly packed: KeySum;
  readonly repeated: CopyCounter;
}

/** Shard of every packed sample; a sample that is in two is found here. */
async function readMembers(store: BlobStore, books: Books, seen: Seen): Promise<Uint32Array> {
  const shardOf = new Uint32Array(books.plan.samples).fill(NOWHERE);
  for (const record of books.records) {
    const text = await readLines(store, `${books.at.generation}${record.memberList.key}`);
    if (hash('sha256', text) !== record.memberList.sha256) {
      throw new AccountsDifferError(record.key, 'the member list is not the one that was packed');
    }
    const observer = books.observer?.(record);
    for (const line of linesOf(text)) {
      const member: MemberLine = JSON.parse(line);
      observer?.see(member);
      seen.repeated.add(record.shard, member);
      if (member.repeat !== undefined) continue;
      const other = shardOf[member.sample];
      if (other !== NOWHERE && other !== record.shard) {
        throw new AccountsDifferError(
          books.plan.runId,
          `sample ${member.sample} is in shards ${other} and ${record.shard}`,
        );
      }
      shardOf[member.sample] = record.shard;
      if (member.key !== undefined) seen.packed.add(member.key, member.etag ?? '');
    }
    await observer?.end();
  }
  return shardOf;
}

const LINES_IN_PART = 100_000;

/** Writes the sorted list of what this generation has dealt with, part by part. */
export class ArrivalsWriter {
  readonly #store: BlobStore;
  readonly #at: Places;
  readonly #parts: Manifest['arrivals']['parts'] = [];
  readonly #byReason: Record<string, number> = {};
  readonly #examples: { key: string; reason: string }[] = [];
  readonly #text = new LineText();
  #first = '';
  #last = '';
  #packed = 0;
  #rejected = 0;
  left = 0;

  constructor(store: BlobStore, at: Places) {
    this.#store = store;
    this.#at = at;
  }

  /** A promise only when a part is full. */
  packed(line: SealedLine): Promise<void> | undefined {
    if (line[3] === NOWHERE)
      throw new AccountsDifferError(line[0], 'this arrival is in no shard and has no reason');
    this.#packed += 1;
    return this.#add(line);
  }

  async rejected(line: [string, string, number, Rejection, string?]): Promise<void> {
    this.#rejected += 1;
    this.#byReason[line[3]] = (this.#byReason[line[3]] ?? 0) + 1;
    if (this.#examples.length < MOST_EXAMPLES) this.#examples.push({ key: line[0], reason: line[3] });
    await this.#add(line);
  }

  async finish(objects: number): Promise<Omit<Accounts, 'repeated'>> {
    await this.#flush();
    const [packed, rejected, left] = [this.#packed, this.#rejected, this.left];
    if (packed + rejected + left !== objects) {
      throw new AccountsDifferError(
        this.#at.generation,
        `${objects} planned, but ${packed} packed + ${rejected} rejected + ${left} left`,
      );
    }
    return {
      arrivals: { objects, packed, rejected, left, parts: this.#parts },
      rejections: { byReason: this.#byReason, examples: this.#examples },
    };
  }

  #add(line: SealedLine): Promise<void> | undefined {
    if (this.#text.lines === 0) this.#first = line[0];
    this.#last = line[0];
    this.#text.add(JSON.stringify(line));
    return this.#text.lines >= LINES_IN_PART ? this.#flush() : undefined;
  }

  async #flush(): Promise<void> {
    const { bytes, lines } = this.#text;
    if (lines === 0) return;
    const list = this.#at.arrivals(this.#parts.length);
    await this.#store.put(`${this.#at.generation}${list}`, compress(bytes), {
      contentType: 'application/gzip',
    });
    this.#parts.push({
      list,
      sha256: hash('sha256', bytes),
      lines,
      first: this.#first,
      last: this.#last,
    });
    this.#text.clear();
  }
}
