/** Proves a sealed generation from its own objects: lists against the manifest, every shard's bytes against the lists. */
import { createHash, hash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { layout } from '../layout.ts';
import { paddingOf, tarHeader } from './formats/tar.ts';
import { compareKeys } from './order.ts';
import { type BlobStore, joinChunks } from './port.ts';
import { type Manifest, type MemberLine, sealedLine } from './records.ts';
import { decompress, linesOf } from './spool.ts';

export interface VerifyReport {
  readonly shards: number;
  readonly members: number;
  readonly bytes: number;
  /** Empty when the generation is whole. */
  readonly problems: readonly string[];
}

const PIECE_BYTES = 8 * 1024 * 1024;
type Shard = Manifest['shards'][number];

class Verification {
  readonly store: BlobStore;
  readonly manifest: Manifest;
  readonly folder: string;
  readonly problems: string[] = [];
  /** How often each packed key was found in a shard, repeats aside; compared with the arrivals at the end. */
  readonly found = new Map<string, number>();
  members = 0;
  bytes = 0;

  constructor(store: BlobStore, manifest: Manifest) {
    this.store = store;
    this.manifest = manifest;
    this.folder = layout.generation(manifest.pipeline, manifest.generation);
  }

  /** A compressed list, or undefined with the problem noted. */
  async list(name: string, sha256: string): Promise<string | undefined> {
    const found = await this.store.get(`${this.folder}${name}`);
    if (found.kind !== 'found') {
      this.problems.push(`${name} is missing`);
      return undefined;
    }
    const text = unpacked(joinChunks(found.chunks));
    if (text !== undefined && hash('sha256', text) === sha256) return text;
    this.problems.push(`${name} is not the list that was sealed`);
    return undefined;
  }
}

function unpacked(bytes: Uint8Array): string | undefined {
  try {
    return decompress(bytes);
  } catch {
    return undefined;
  }
}

export async function verifyGeneration(store: BlobStore, manifest: Manifest): Promise<VerifyReport> {
  const check = new Verification(store, manifest);
  for (const shard of manifest.shards) await verifyShard(check, shard);
  await verifyArrivals(check);
  const rows = manifest.annotations?.problems;
  if (rows !== undefined) await check.list(rows.list, rows.sha256);
  const samples = manifest.shards.reduce((sum, shard) => sum + shard.samples, 0);
  if (samples !== manifest.samples)
    check.problems.push(`the shards hold ${samples} samples, the manifest says ${manifest.samples}`);
  return {
    shards: manifest.shards.length,
    members: check.members,
    bytes: check.bytes,
    problems: check.problems,
  };
}

async function verifyShard(check: Verification, shard: Shard): Promise<void> {
  const text = await check.list(shard.memberList, shard.memberListSha256);
  if (text === undefined) return;
  const lines = [...linesOf(text)].map((line): MemberLine => JSON.parse(line));
  if (lines.length !== shard.members)
    check.problems.push(`${shard.name}: ${lines.length} members listed, ${shard.members} sealed`);
  for (const { key, repeat } of lines) {
    if (key !== undefined && repeat !== true) check.found.set(key, (check.found.get(key) ?? 0) + 1);
  }
  check.members += lines.length;
  const tar = check.manifest.format === 'webdataset';
  const walk = new ShardWalk(
    check,
    shard,
    lines.filter(({ sha256 }) => sha256 !== '').sort((a, b) => a.offset - b.offset),
    tar,
  );
  for (let offset = 0; offset < shard.bytes; offset += PIECE_BYTES) {
    const length = Math.min(PIECE_BYTES, shard.bytes - offset);
    const found = await check.store.get(`${check.folder}shards/${shard.name}`, {
      ifMatch: shard.etag,
      range: { offset, length },
    });
    if (found.kind !== 'found') {
      check.problems.push(
        `${shard.name} is ${found.kind === 'missing' ? 'missing' : 'not the object that was sealed'}`,
      );
      return;
    }
    for (const chunk of found.chunks) walk.take(chunk);
  }
  walk.end();
}

/** Follows a shard's bytes and its list side by side. */
class ShardWalk {
  readonly #check: Verification;
  readonly #shard: Shard;
  readonly #lines: readonly MemberLine[];
  readonly #expectsTar: boolean;
  #position = 0;
  #crc = 0;
  #next = 0;
  #digest = createHash('sha256');
  /** Bytes between members, compared with what a tar must have there. */
  #between: Uint8Array[] = [];

  constructor(check: Verification, shard: Shard, lines: readonly MemberLine[], expectsTar: boolean) {
    this.#check = check;
    this.#shard = shard;
    this.#lines = lines;
    this.#expectsTar = expectsTar;
    this.#closeEmpty();
  }

  take(chunk: Uint8Array): void {
    this.#crc = crc32(chunk, this.#crc);
    this.#check.bytes += chunk.length;
    for (let at = 0; at < chunk.length; ) {
      const line = this.#lines[this.#next];
      const inside = line !== undefined && this.#position >= line.offset;
      const until =
        line === undefined ? Number.POSITIVE_INFINITY : inside ? line.offset + line.size : line.offset;
      const length = Math.min(chunk.length - at, until - this.#position);
      const bytes = chunk.subarray(at, at + length);
      if (inside) this.#digest.update(bytes);
      else this.#between.push(Uint8Array.from(bytes));
      at += length;
      this.#position += length;
      this.#close();
    }
  }

  end(): void {
    if (this.#next < this.#lines.length)
      this.#complain(`ends before ${JSON.stringify(this.#lines[this.#next]?.name)}`);
    const crc = this.#crc.toString(16).padStart(8, '0');
    if (crc !== this.#shard.crc32) this.#complain(`has CRC-32 ${crc}, not ${this.#shard.crc32}`);
    const rest = Buffer.concat(this.#between);
    const last = this.#lines[this.#lines.length - 1];
    const trailer = 1_024 + (last === undefined ? 0 : paddingOf(last.size));
    if (this.#expectsTar && (rest.length !== trailer || rest.some((byte) => byte !== 0)))
      this.#complain('has no clean end');
  }

  #complain(what: string): void {
    this.#check.problems.push(`${this.#shard.name} ${what}`);
  }

  #close(): void {
    const line = this.#lines[this.#next];
    if (line === undefined) return;
    if (this.#position === line.offset) this.#checkBetween(line);
    if (this.#position !== line.offset + line.size) return;
    if (this.#digest.digest('hex') !== line.sha256)
      this.#complain(`holds other bytes for ${JSON.stringify(line.name)} than were packed`);
    this.#digest = createHash('sha256');
    this.#next += 1;
    this.#closeEmpty();
  }

  /** An empty member ends where it begins, before any byte of it comes. */
  #closeEmpty(): void {
    if (!this.#expectsTar && this.#lines[this.#next]?.offset === this.#position) this.#close();
  }

  #checkBetween(line: MemberLine): void {
    if (this.#expectsTar) {
      const before = this.#lines[this.#next - 1];
      const expected = Buffer.concat([
        Buffer.alloc(before === undefined ? 0 : paddingOf(before.size)),
        tarHeader(line.name, line.size),
      ]);
      if (!Buffer.concat(this.#between).equals(expected))
        this.#complain(`has a wrong header for ${JSON.stringify(line.name)}`);
    }
    this.#between = [];
  }
}

/** The sorted arrivals: in order, counted, and every packed one in exactly one shard. */
async function verifyArrivals(check: Verification): Promise<void> {
  const { arrivals } = check.manifest;
  let packed = 0;
  let rejected = 0;
  let before: string | undefined;
  for (const part of arrivals.parts) {
    for (const line of linesOf((await check.list(part.list, part.sha256)) ?? '')) {
      const [key, , , fate] = sealedLine.parse(JSON.parse(line));
      if (before !== undefined && compareKeys(before, key) >= 0)
        check.problems.push(`${part.list} is not in order at ${JSON.stringify(key)}`);
      before = key;
      if (typeof fate === 'string') rejected += 1;
      else {
        packed += 1;
        const times = check.found.get(key) ?? 0;
        if (times !== 1) check.problems.push(`${JSON.stringify(key)} is in ${times} shards`);
        check.found.delete(key);
      }
    }
  }
  for (const key of check.found.keys())
    check.problems.push(`${JSON.stringify(key)} is in a shard but not among the arrivals`);
  if (packed !== arrivals.packed || rejected !== arrivals.rejected) {
    check.problems.push(
      `${packed} packed and ${rejected} rejected are listed, the manifest says ${arrivals.packed} and ${arrivals.rejected}`,
    );
  }
}
