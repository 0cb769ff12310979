/**
 * Audits a generation before its seal. It compares plan, records and member lists sample by sample: each planned
 * arrival is in exactly one shard, rejected with a reason, or deferred to the next generation, and no shard holds
 * anything else.
 */

import { hash } from 'node:crypto';
import { contentEtag } from '../arrivals/bundle-place.ts';
import { type BlobStore, joinChunks } from '../documents/blob-store.ts';
import { compress, decompress, jsonLine, LineBuffer, linesOf } from '../documents/compressed-lines.ts';
import {
  type ArrivalLine,
  type MemberLine,
  memberLine,
  type Plan,
  parseArrival,
  type ShardRecord,
} from '../documents/documents.ts';
import type { HeldSamples } from '../documents/held-samples.ts';
import type { LeftArrivals, Manifest, SealedLine } from '../documents/manifest.ts';
import { MultisetHash } from '../documents/multiset-hash.ts';
import type { PackingKeys } from '../documents/packing-keys.ts';
import { type Deferral, isDeferral, type Rejection } from '../documents/rejections.ts';
import { NO_SHARD } from '../documents/shard-count.ts';
import { CopyCounter } from '../shard/member-list.ts';
import { misplacedText, type SplitCheck } from '../splits/split-rule.ts';
import type { Excluded, Exclusions } from './exclusions.ts';

const MOST_EXAMPLES = 100;

interface Left {
  readonly key: string;
  readonly reason: Deferral | Rejection;
  readonly code?: string | undefined;
  /** Seconds since 1970; only of one that waits for other objects. */
  readonly since?: number | undefined;
}

const isoOf = (seconds: number): string => new Date(seconds * 1_000).toISOString();

/** Counts the arrivals that a later generation packs, by reason and with examples. */
export class LeftTally {
  readonly #byReason: Record<string, number> = {};
  readonly #byCode: Record<string, number> = {};
  readonly #examples: LeftArrivals['examples'] = [];
  #since: number | undefined;
  count = 0;

  add({ key, reason, code, since }: Left): undefined {
    this.count += 1;
    this.#byReason[reason] = (this.#byReason[reason] ?? 0) + 1;
    if (code !== undefined) this.#byCode[code] = (this.#byCode[code] ?? 0) + 1;
    if (since !== undefined) this.#since = Math.min(since, this.#since ?? since);
    if (this.#examples.length >= MOST_EXAMPLES) return;
    this.#examples.push({
      key,
      reason,
      ...(code !== undefined && { code }),
      ...(since !== undefined && { since: isoOf(since) }),
    });
  }

  /** For the manifest; empty if nothing was left. */
  found(): { readonly left?: LeftArrivals } {
    if (this.count === 0) return {};
    return {
      left: {
        byReason: this.#byReason,
        ...(Object.keys(this.#byCode).length > 0 && { byCode: this.#byCode }),
        ...(this.#since !== undefined && { since: isoOf(this.#since) }),
        examples: this.#examples,
      },
    };
  }
}

export interface AuditInput {
  readonly keys: PackingKeys;
  readonly plan: Plan;
  readonly records: readonly Omit<ShardRecord, 'exclusions'>[];
  readonly exclusions: Exclusions;
  /** As in the plan. */
  readonly held: HeldSamples;
  /** Sees the shard's member list line by line. */
  readonly observer?: (record: Pick<ShardRecord, 'name'>) => MemberObserver;
}

export interface MemberObserver {
  see(line: MemberLine): void;
  /** Called after the last line. */
  end(): Promise<void>;
}

export interface Audit {
  /** Copies of samples. */
  readonly repeated: number;
  readonly arrivals: Manifest['arrivals'];
  readonly rejections: Manifest['rejections'];
  readonly left?: LeftArrivals;
}

/** The audit found a difference: a defect or a damaged bucket. Another try does not help. */
export class AuditError extends Error {
  override readonly name = 'AuditError';
  constructor(runId: string, difference: string) {
    super(
      `${runId} cannot be sealed: ${difference}. Nothing is deleted. Remove the run's plan folder and pack again`,
    );
  }
}

/** @throws AuditError for a sample in the shard of another split */
export function checkSplits(runId: string, { misplaced: [first] }: SplitCheck): void {
  if (first !== undefined) throw new AuditError(runId, misplacedText(first));
}

export async function auditArrivals(store: BlobStore, input: AuditInput): Promise<Audit> {
  const packed = new MultisetHash();
  const repeated = new CopyCounter();
  const shardOf = await readMembers(store, input, { packed, repeated });
  const { exclusions } = input;
  for (const sample of input.plan.dropped) exclusions.add({ sample, outcome: 'deferred', members: [] });
  const left = new LeftTally();
  const writer = new ArrivalsWriter(store, input.keys);
  const planned = new MultisetHash();
  const rejected = new MultisetHash();
  const record = ([key, size, etag, sample, since]: ArrivalLine): Promise<void> | undefined => {
    if (typeof sample === 'string') {
      if (!isDeferral(sample)) return writer.rejected([key, etag, size, sample]);
      return left.add({ key, reason: sample, since });
    }
    const exclusion = exclusions.of(sample);
    if (exclusion?.outcome === 'rejected') rejected.add(key, '');
    if (exclusion?.outcome === 'deferred')
      return left.add({ key, reason: 'remainder', ...exclusion.causeOf(key) });
    const packedEtag = input.held.get(sample)?.etags[key];
    if (exclusion !== undefined)
      return recordRejected(writer, exclusion, { line: [key, etag, size], packedEtag });
    planned.add(key, etag);
    return writer.packed([key, etag, size, shardOf[sample] ?? NO_SHARD]);
  };
  for (let part = 0; part < input.plan.arrivalParts; part += 1) {
    for (const line of linesOf(
      await readCompressed(store, input.keys.planArrivals(input.plan.digest, part)),
    )) {
      const full = record(parseArrival(line));
      if (full !== undefined) await full;
    }
  }
  if (!planned.equals(packed)) {
    throw new AuditError(
      input.plan.runId,
      `${planned.count} objects are planned, but the shards hold ${packed.count}, or other ones`,
    );
  }
  if (!rejected.equals(exclusions.rejected)) {
    throw new AuditError(
      input.plan.runId,
      `${exclusions.rejected.count} members were rejected while they were read, but ${rejected.count} of them are planned, or other ones`,
    );
  }
  writer.deferred = left.count;
  return { ...(await writer.finish(input.plan.objects)), ...left.found(), repeated: repeated.count };
}

function recordRejected(
  writer: ArrivalsWriter,
  exclusion: Excluded,
  {
    line: [key, etag, size],
    packedEtag,
  }: { readonly line: [string, string, number]; readonly packedEtag: string | undefined },
): Promise<void> {
  const reason = exclusion.causeOf(key)?.reason;
  if (reason === undefined || isDeferral(reason))
    throw new AuditError(key, 'its sample was rejected, but without a reason for this member');
  if (reason !== 'unchanged') return writer.rejected([key, etag, size, reason]);
  if (packedEtag === undefined)
    throw new AuditError(key, 'it was left out as unchanged, but the plan knows nothing packed of it');
  return writer.rejected([key, etag, size, reason, packedEtag]);
}

export async function readCompressed(store: BlobStore, key: string): Promise<string> {
  const found = await store.get(key);
  if (found.kind !== 'found') throw new AuditError(key, 'the list is gone');
  return decompress(joinChunks(found.chunks));
}

interface Seen {
  readonly packed: MultisetHash;
  readonly repeated: CopyCounter;
}

/** The shard of each packed sample. @throws AuditError if a sample is in two shards */
async function readMembers(store: BlobStore, input: AuditInput, seen: Seen): Promise<Uint32Array> {
  const shardOf = new Uint32Array(input.plan.samples).fill(NO_SHARD);
  for (const record of input.records) {
    const text = await readCompressed(store, `${input.keys.generation}${record.memberList.key}`);
    if (hash('sha256', text) !== record.memberList.sha256) {
      throw new AuditError(record.key, 'the member list is not the one that was packed');
    }
    const observer = input.observer?.(record);
    for (const line of linesOf(text)) {
      const member = memberLine.parse(JSON.parse(line));
      observer?.see(member);
      seen.repeated.add(record.shard, member);
      if (member.repeat !== undefined) continue;
      const other = shardOf[member.sample];
      if (other !== NO_SHARD && other !== record.shard) {
        throw new AuditError(
          input.plan.runId,
          `sample ${member.sample} is in two shards, ${other} and ${record.shard}`,
        );
      }
      shardOf[member.sample] = record.shard;
      if (member.key !== undefined) seen.packed.add(member.key, member.etag ?? '');
    }
    await observer?.end();
  }
  return shardOf;
}

export const LINES_IN_PART = 100_000;

/** Writes the sorted list of packed and rejected arrivals, part by part. */
export class ArrivalsWriter {
  readonly #store: BlobStore;
  readonly #keys: PackingKeys;
  readonly #parts: Manifest['arrivals']['parts'] = [];
  readonly #byReason: Record<string, number> = {};
  readonly #examples: Manifest['rejections']['examples'] = [];
  readonly #text = new LineBuffer();
  #first = '';
  #last = '';
  #packed = 0;
  #rejected = 0;
  deferred = 0;

  constructor(store: BlobStore, keys: PackingKeys) {
    this.#store = store;
    this.#keys = keys;
  }

  /** Returns a promise only when a part is full. */
  packed(line: SealedLine): Promise<void> | undefined {
    if (line[3] === NO_SHARD)
      throw new AuditError(line[0], 'the arrival is in no shard, and it was not rejected');
    this.#packed += 1;
    return this.#add(line);
  }

  async rejected(
    line: [string, string, number, Rejection, (string | null | undefined)?, (number | undefined)?],
  ): Promise<void> {
    this.#rejected += 1;
    this.#byReason[line[3]] = (this.#byReason[line[3]] ?? 0) + 1;
    const [key, etag, size, reason] = line;
    const place = contentEtag(etag) === etag ? {} : { etag, size };
    if (this.#examples.length < MOST_EXAMPLES) this.#examples.push({ key, reason, ...place });
    await this.#add(line);
  }

  async finish(objects: number): Promise<Omit<Audit, 'repeated'>> {
    await this.#flush();
    const [packed, rejected, deferred] = [this.#packed, this.#rejected, this.deferred];
    if (packed + rejected + deferred !== objects) {
      throw new AuditError(
        this.#keys.generation,
        `${objects} arrivals are planned, but ${packed} are packed, ${rejected} rejected and ${deferred} deferred`,
      );
    }
    return {
      arrivals: { objects, packed, rejected, deferred, parts: this.#parts },
      rejections: { byReason: this.#byReason, examples: this.#examples },
    };
  }

  #add(line: SealedLine): Promise<void> | undefined {
    if (this.#text.lines === 0) this.#first = line[0];
    this.#last = line[0];
    this.#text.add(jsonLine(line));
    return this.#text.lines >= LINES_IN_PART ? this.#flush() : undefined;
  }

  async #flush(): Promise<void> {
    const { bytes, lines } = this.#text;
    if (lines === 0) return;
    const list = this.#keys.arrivals(this.#parts.length);
    await this.#store.put(`${this.#keys.generation}${list}`, compress(bytes), {
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
