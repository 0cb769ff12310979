/**
 * Verifies a sealed generation: it compares the lists with the manifest, each shard's bytes with the lists, and the files
 * beside the shards with what follows from the lists. A spot check reads some shards before the seal.
 */

import { isDeepStrictEqual } from 'node:util';
import { bucketKeys, shardsFolder } from '@tidewheel/contract/bucket-keys.ts';
import { isUnpacked } from '@tidewheel/declaration/packing-settings.ts';
import { quoted } from '@tidewheel/kit/quoted.ts';
import { type BlobStore, joinChunks, listPages } from '../documents/blob-store.ts';
import { linesOf } from '../documents/compressed-lines.ts';
import { isCopied, type MemberLine, memberLine } from '../documents/documents.ts';
import { type Manifest, type SealedLine, sealedLine } from '../documents/manifest.ts';
import { arrivalOf, compareKeys } from '../documents/order.ts';
import { shardNumberOf } from '../documents/packing-keys.ts';
import { sealedLines } from '../documents/sealed-lines.ts';
import { formatOf } from '../formats/formats.ts';
import type { ClassCount } from '../seal/content-facts.ts';
import { datasetIndexes, type IndexFile, shardIndex } from '../seal/index-files.ts';
import { keptSizes } from '../seal/kept-files.ts';
import { evenCountOf, misplacedText, sealedSplits } from '../splits/split-rule.ts';
import type { RetractedObjects, RetractionReport } from './retracted-members.ts';
import { Verification } from './verification.ts';
import { ShardVerifier } from './verify-shard.ts';

type SameAs = (stored: Buffer, expected: Buffer) => boolean;
const sameBytes: SameAs = (stored, expected) => stored.equals(expected);

async function verifyFile(
  { store, folder, problems }: Verification,
  file: IndexFile | undefined,
  isSame: SameAs = sameBytes,
): Promise<void> {
  if (file === undefined) return;
  const found = await store.get(`${folder}${file.name}`);
  if (found.kind !== 'found') problems.push(`${file.name} is missing: some readers need it to find samples`);
  else if (!isSame(Buffer.from(joinChunks(found.chunks)), Buffer.from(file.body)))
    problems.push(`${file.name} does not match the shards`);
}

/** The index of one shard, for the formats that have one. */
const verifyShardIndex = (
  verified: Verification,
  shard: Manifest['shards'][number],
  lines: Iterable<MemberLine>,
): Promise<void> => verifyFile(verified, shardIndex(verified.manifest, shard, lines));

/** The indexes over all shards, for the formats that have one. Earlier releases wrote none among unsplit shards. */
async function verifyDatasetIndex(verified: Verification): Promise<void> {
  const { generation, format, schema, shards, revision, indexes, splits } = verified.manifest;
  if (shards.length === 0) return;
  const settings = { format, labelType: schema.labelType, shardMegabytes: 0 };
  const sourceSchema = { columns: schema.columns ?? [] };
  const isSame = formatOf(verified.manifest).datasetIndex?.isSame;
  const isOlder = indexes === undefined && splits === undefined;
  for (const file of datasetIndexes({ generation, settings, sourceSchema, shards, revision }))
    if (!isOlder || !file.name.startsWith(shardsFolder(revision))) await verifyFile(verified, file, isSame);
}

/** The folder of the shards is a channel of training. A training reads every object in it as a shard. */
async function verifyNoStrays({ store, manifest, folder, problems }: Verification): Promise<void> {
  const shards = `${folder}${shardsFolder(manifest.revision)}`;
  const { format, indexes = [], splits = [] } = manifest;
  const index = formatOf({ format }).datasetIndex?.name;
  const names = new Set([
    ...manifest.shards.map(({ name }) => name),
    ...indexes,
    ...(index === undefined ? [] : splits.map((split) => `${split.name}/${index}`)),
  ]);
  for await (const page of listPages(store, shards))
    for (const { key } of page.objects) {
      const name = key.slice(shards.length);
      if (!names.has(name)) problems.push(`${quoted(name)} lies among the shards but is none: delete it`);
    }
}

export interface VerifyReport {
  readonly shards: number;
  readonly members: number;
  readonly bytes: number;
  /** Samples by label, counted in the lists; undefined if there are more labels than classes can be. */
  readonly classes: ReadonlyMap<string, ClassCount> | undefined;
  /** Empty if the generation is whole. */
  readonly problems: readonly string[];
  readonly retractions?: RetractionReport | undefined;
}

const PIECE_BYTES = 8 * 1024 * 1024;
type Shard = Manifest['shards'][number];

/** @param retracted from the whole dataset, to prove that the generation holds none of it */
export async function verifyGeneration(
  store: BlobStore,
  manifest: Manifest,
  retracted?: RetractedObjects,
): Promise<VerifyReport> {
  const check = new Verification(store, manifest, retracted);
  if (isUnpacked(manifest)) return verifyFiles(check);
  for (const shard of manifest.shards) await verifyShard(check, shard);
  await verifyArrivals(check);
  await verifyDatasetIndex(check);
  await verifyNoStrays(check);
  const rows = manifest.annotations?.problems;
  if (rows !== undefined) await check.list(rows.list, rows.sha256);
  verifyEven(check);
  verifySplits(check);
  // The members of a shard without its list are counted nowhere.
  if (check.unlisted.size === 0) verifyCounts(check);
  const samples = manifest.shards.reduce((sum, shard) => sum + shard.samples, 0);
  if (samples !== manifest.samples)
    check.problems.push(`the shards hold ${samples} samples, the manifest says ${manifest.samples}`);
  return {
    shards: manifest.shards.length,
    members: check.members,
    bytes: check.bytes,
    classes: check.classes.counts,
    problems: check.problems,
    retractions: await check.retracted?.finish(),
  };
}

/** Each file lies under `incoming/` as it was sealed, or has a copy. Their bytes are not read. */
async function verifyFiles(check: Verification): Promise<VerifyReport> {
  const { store, manifest, problems } = check;
  const { pipeline } = manifest;
  const gone = new Map<string, string>();
  for await (const [key, etag, size, fate] of sealedLines(store, manifest)) {
    if (typeof fate !== 'number') continue;
    check.found.set(arrivalOf(key, etag), 1);
    gone.set(key, etag);
    check.retracted?.addKey(key);
    check.members += 1;
    check.bytes += size;
  }
  await verifyArrivals(check);
  for await (const { objects } of listPages(store, bucketKeys.incoming(pipeline)))
    for (const { key, etag } of objects) if (gone.get(key) === etag) gone.delete(key);
  const kept = gone.size === 0 ? undefined : await keptSizes(store, pipeline);
  for (const [key, etag] of gone)
    if (kept?.has(bucketKeys.keptFile(pipeline, { key, etag })) !== true)
      problems.push(`${quoted(key)} changed or was deleted since the seal, and has no copy: drop it again`);
  const { members, bytes } = check;
  const retractions = await check.retracted?.finish();
  return { shards: 0, members, bytes, classes: new Map(), problems, retractions };
}

function verifyCounts(check: Verification): void {
  const { copies, manifest, problems } = check;
  verifyPrepared(check);
  verifyClasses(check);
  if (copies.count !== manifest.repeated)
    problems.push(`the shards hold ${copies.count} copies, the manifest says ${manifest.repeated}`);
}

function countPrepared({ prepared }: Verification, { source, size, repeat }: MemberLine): void {
  if (source === undefined || repeat !== undefined) return;
  prepared.images += 1;
  prepared.sourceBytes += source.size;
  prepared.bytes += size;
}

function verifyPrepared({ manifest: { prepared: sealed }, prepared, problems }: Verification): void {
  const { images, sourceBytes, bytes } = sealed ?? { images: 0, sourceBytes: 0, bytes: 0 };
  if (!isDeepStrictEqual({ images, sourceBytes, bytes }, prepared))
    problems.push(
      `the lists hold ${prepared.images} prepared images of ${prepared.bytes} bytes, the manifest says ${images} of ${bytes}`,
    );
}

/** A joined generation that was not balanced again has the classes of its inputs, which were not counted. */
function verifyClasses({ manifest: { balance }, classes, problems }: Verification): void {
  for (const [name, { sealed }] of Object.entries(balance?.classes ?? {})) {
    const counted = classes.sealedOf(name);
    if (sealed !== undefined && counted !== sealed)
      problems.push(
        `the shards hold ${counted} samples of the class ${quoted(name)}, the manifest says ${sealed}`,
      );
  }
}

function verifyEven({ manifest, problems }: Verification): void {
  for (const { name, samples } of manifest.shards) {
    const even = evenCountOf(manifest, shardNumberOf(name));
    if (even !== undefined && samples !== even)
      problems.push(`${name} holds ${samples} samples, the others ${even}`);
  }
}

/** The split of a sample follows from its group alone, so a group whose samples all lie where they belong is in one. */
function verifySplits({ manifest: { splits, shards }, splitCheck, problems }: Verification): void {
  problems.push(...splitCheck.misplaced.map(misplacedText));
  if (splits !== undefined && !isDeepStrictEqual(sealedSplits(splits, shards), splits))
    problems.push('the counts of the splits differ from the shards');
}

/** Compares one shard with its lists, and notes what it holds. */
async function verifyShard(check: Verification, shard: Shard): Promise<void> {
  const text = await check.list(shard.memberList, shard.memberListSha256);
  if (text === undefined) {
    check.unlisted.add(shardNumberOf(shard.name));
    return verifyBytes(check, shard, undefined);
  }
  const lines = [...linesOf(text)].map((line) => memberLine.parse(JSON.parse(line)));
  if (lines.length !== shard.members)
    check.problems.push(`${shard.name}: ${lines.length} members listed, ${shard.members} sealed`);
  for (const line of lines) {
    const { key, repeat } = line;
    check.copies.add(shard.name, line);
    check.retracted?.add(shard, line);
    check.classes.add(line, shard.name);
    check.splitCheck.add(shard.name, line);
    countPrepared(check, line);
    if (key === undefined || repeat !== undefined) continue;
    const arrival = arrivalOf(key, line.etag ?? '');
    check.found.set(arrival, (check.found.get(arrival) ?? 0) + 1);
  }
  await verifyShardIndex(check, shard, lines);
  check.members += lines.length;
  await verifyBytes(check, shard, lines);
}

/** @param lines undefined if the list cannot be read: then only the shard's own checksum is compared */
async function verifyBytes(
  check: Verification,
  shard: Shard,
  lines: readonly MemberLine[] | undefined,
): Promise<void> {
  const complain = (what: string): void => void check.problems.push(`${shard.name} ${what}`);
  const format = formatOf(check.manifest);
  const sorted = (lines ?? []).toSorted((a, b) => a.offset - b.offset);
  const tailProblem = lines && format.takes === 'samples' ? format.tailProblem : undefined;
  const verifier = new ShardVerifier({
    sums: shard,
    lines: sorted.filter((line) => line.sha256 !== '' || isCopied(line)),
    frames: lines && format.memberFrames,
    tailProblem: tailProblem && ((tail) => tailProblem(tail, sorted)),
    isGzipped: check.manifest.compression === 'gzip',
    complain,
  });
  const key = `${check.folder}${shardsFolder(check.manifest.revision)}${shard.name}`;
  const head = await check.store.head(key);
  if (head === undefined) return complain('is missing');
  if (head.etag !== shard.etag || head.size !== shard.bytes)
    complain(
      `is not the object that was sealed: ${head.size} bytes with ETag ${head.etag}, not ${shard.bytes} with ${shard.etag}`,
    );
  check.bytes += await verifier.verify(storedBytes(check, shard, { key, ...head }));
}

interface StoredShard {
  readonly key: string;
  readonly etag: string;
  readonly size: number;
}

/** The stored bytes, even if the object is not the sealed one: its members then show where it differs. */
async function* storedBytes(
  check: Verification,
  shard: Shard,
  { key, etag, size }: StoredShard,
): AsyncGenerator<Uint8Array> {
  const end = Math.min(size, shard.bytes);
  for (let offset = 0; offset < end; offset += PIECE_BYTES) {
    const range = { offset, length: Math.min(PIECE_BYTES, end - offset) };
    const found = await check.store.get(key, { ifMatch: etag, range });
    if (found.kind !== 'found') {
      check.problems.push(`${shard.name} changed while it was read`);
      return;
    }
    for (const chunk of found.chunks) yield chunk;
  }
}

/** Checks that the arrivals are in order and counted right, and that each packed one is in exactly one shard. */
async function verifyArrivals(check: Verification): Promise<void> {
  const { arrivals, rejections } = check.manifest;
  const tally: Tally = { packed: 0, rejected: 0, byReason: {} };
  let isWhole = true;
  let before: SealedLine | undefined;
  for (const part of arrivals.parts) {
    const text = await check.list(part.list, part.sha256);
    isWhole &&= text !== undefined;
    for (const line of linesOf(text ?? '')) {
      const arrival = sealedLine.parse(JSON.parse(line));
      if (
        before !== undefined &&
        (compareKeys(before[0], arrival[0]) || compareKeys(before[1], arrival[1])) >= 0
      )
        check.problems.push(`${part.list} is not in order at ${quoted(arrival[0])}`);
      before = arrival;
      count(check, tally, arrival);
    }
  }
  // All further problems would follow from the missing list.
  if (!isWhole) return;
  if (!isDeepStrictEqual(tally.byReason, rejections.byReason))
    check.problems.push('the counts of rejection reasons differ from the manifest');
  check.expectNoMore();
  const { packed, rejected } = tally;
  if (packed !== arrivals.packed || rejected !== arrivals.rejected)
    check.problems.push(
      `${packed} packed and ${rejected} rejected are listed, the manifest says ${arrivals.packed} and ${arrivals.rejected}`,
    );
}

interface Tally {
  packed: number;
  rejected: number;
  readonly byReason: Record<string, number>;
}

function count(check: Verification, tally: Tally, [key, etag, , outcome]: SealedLine): void {
  if (typeof outcome === 'number') {
    tally.packed += 1;
    check.expectOnce(key, etag, outcome);
    return;
  }
  tally.rejected += 1;
  tally.byReason[outcome] = (tally.byReason[outcome] ?? 0) + 1;
}

const SHARDS_READ = 2;
/** A larger shard would take the function's time. */
const LARGEST_BYTES = 1e9;

/**
 * The digest of the plan chooses the shards, so a repeated seal reads the same ones.
 * @returns the problems
 */
export async function spotCheck(store: BlobStore, manifest: Manifest): Promise<readonly string[]> {
  const shards = manifest.shards.filter(({ bytes }) => bytes <= LARGEST_BYTES);
  const first = Number.parseInt(manifest.plan.slice(0, 8), 16) % Math.max(1, shards.length);
  const check = new Verification(store, manifest);
  for (const shard of [...shards.slice(first), ...shards.slice(0, first)].slice(0, SHARDS_READ))
    await verifyShard(check, shard);
  return check.problems;
}
