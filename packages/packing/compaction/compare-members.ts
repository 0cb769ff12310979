/** Proves that joined shards hold the members of the old ones, without the samples that the plan leaves out. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import { contentOf, type MemberLine, type PreparedTotals } from '../documents/documents.ts';
import type { Manifest } from '../documents/manifest.ts';
import { MultisetHash } from '../documents/multiset-hash.ts';
import { arrivalOf } from '../documents/order.ts';
import { type PackingKeys, packingKeys } from '../documents/packing-keys.ts';
import { memberLines } from '../documents/sealed-lines.ts';
import { sumOfSource } from '../formats/retracted-bytes.ts';
import { AuditError, checkSplits } from '../seal/audit.ts';
import type { CommittedShard } from '../seal/committed-shards.ts';
import { ClassCounter, ContentFacts } from '../seal/content-facts.ts';
import { shardIndex, writeIndexFile } from '../seal/index-files.ts';
import { checkExtent } from '../seal/shard-extent.ts';
import { CopyCounter } from '../shard/member-list.ts';
import { evenCountOf, SplitCheck } from '../splits/split-rule.ts';
import { DroppedCopies } from './balance-again.ts';
import { firstWithShards } from './compact-shards.ts';
import { type CompactionPlan, copyChangesOf, isJoined, leftOutOf, samplesEachOf } from './plan-compaction.ts';
import type { LeftOutArrival } from './superseded-samples.ts';

export interface JoinedGeneration {
  readonly plan: CompactionPlan;
  readonly manifests: readonly Manifest[];
  readonly keys: PackingKeys;
  readonly records: readonly CommittedShard[];
  readonly shards: Manifest['shards'];
  readonly packing: PackingSettings;
}

export interface ComparedMembers {
  /** Copies of samples. */
  readonly repeated: number;
  readonly images: Omit<PreparedTotals, 'by'>;
  readonly content: ContentFacts;
  readonly classes: ClassCounter;
  /** For each input the arrivals that are left out, by `arrivalOf`. */
  readonly leftOut: readonly ReadonlyMap<string, LeftOutArrival>[];
}

export async function compareMembers(store: BlobStore, joined: JoinedGeneration): Promise<ComparedMembers> {
  const { plan, keys, shards, packing } = joined;
  const [before, after] = [new MemberTally(), new MemberTally()];
  const content = new ContentFacts();
  const classes = new ClassCounter(plan.splits !== undefined);
  const { innerSuffixes, join } = firstWithShards(joined.manifests) ?? {};
  const splitCheck = new SplitCheck(
    { split: packing.split, innerSuffixes, join },
    bucketKeys.incoming(plan.pipeline),
  );
  const leftOut = await tallyInputs(store, joined, before);
  for (const shard of shards) {
    const lines = await memberLines(store, keys, shard);
    after.add(shard.name, lines);
    for (const line of lines) {
      content.add(line);
      classes.add(line, shard.name);
      splitCheck.add(shard.name, line);
    }
    checkExtent(formatIn(joined), shard, lines);
    await writeIndexFile(store, keys, shardIndex(packing, shard, lines));
  }
  const outputs = joined.records.reduce((sum, { samples }) => sum + samples, 0);
  const balancing = plan.of.flatMap(({ added = [] }) => added).reduce((sum, [, count]) => sum + count, 0);
  const added = plan.samplesEach === undefined ? balancing : outputs - before.samples;
  const isSame = before.equals(after) && (plan.samplesEach !== undefined || before.hasCopiesOf(after));
  if (!isSame || before.samples + added !== outputs || before.copies.count + added !== after.copies.count)
    throw new AuditError(
      plan.generation,
      `its inputs hold ${before.members} members of ${before.samples} samples, but its shards hold ${after.members} of ${outputs}, or other ones`,
    );
  checkCounts(joined);
  checkSplits(plan.generation, splitCheck);
  return { repeated: after.copies.count, images: after.images, content, classes, leftOut };
}

function checkCounts({ plan, records }: JoinedGeneration): void {
  const eachOf = (shard: number) => samplesEachOf(plan, shard) ?? evenCountOf(plan, shard);
  if (records.some(({ shard, samples }) => samples !== (eachOf(shard) ?? samples)))
    throw new AuditError(plan.generation, 'the counts of its shards are not equal');
}

/** Format and compression are equal in all inputs. */
const formatIn = ({ packing: { format }, manifests }: JoinedGeneration) => ({
  format,
  compression: manifests.find(({ shards }) => shards.length > 0)?.compression,
});

/** @returns for each input the arrivals that are left out */
async function tallyInputs(
  store: BlobStore,
  { plan, manifests }: JoinedGeneration,
  tally: MemberTally,
): Promise<Map<string, LeftOutArrival>[]> {
  const arrivals = manifests.map(() => new Map<string, LeftOutArrival>());
  for (const [input, manifest] of manifests.entries()) {
    const from = packingKeys(plan.pipeline, manifest.generation);
    const leftOut = leftOutOf(plan, input);
    const { added, dropped } = copyChangesOf(plan, input);
    const droppedCopies = new DroppedCopies(dropped);
    for (const [index, shard] of manifest.shards.entries()) {
      const kept: MemberLine[] = [];
      for (const line of await memberLines(store, from, shard)) {
        const reason = leftOut.get(line.sample);
        if (droppedCopies.has(index, line.sample, line.repeat)) continue;
        if (isJoined(plan, leftOut, line)) kept.push(line);
        else if (reason === undefined) continue;
        else if (line.key !== undefined) {
          const sum = reason === 'retracted' ? sumOfSource(line) : undefined;
          arrivals[input]?.set(arrivalOf(line.key, line.etag ?? ''), { reason, sum });
        }
      }
      tally.add(`${input}/${shard.name}`, kept);
      tally.addCopies(kept, added);
    }
  }
  return arrivals;
}

/** Order-free digests of members by source and content. */
class MemberTally {
  readonly #sum = new MultisetHash();
  readonly #copies = new MultisetHash();
  readonly copies = new CopyCounter();
  readonly images = { images: 0, sourceBytes: 0, bytes: 0 };
  #last = '';
  members = 0;
  /** With copies. */
  samples = 0;

  add(shard: string, lines: readonly MemberLine[]): void {
    for (const line of lines) {
      const { key = '', etag = '', size, column = '', sample, repeat, source } = line;
      this.copies.add(shard, line);
      const name = `${shard}/${sample}/${repeat ?? ''}`;
      if (name !== this.#last) this.samples += 1;
      this.#last = name;
      const content = `${etag}\0${contentOf(line)}\0${size}`;
      if (repeat !== undefined) {
        // Without its number: a new copy gets one, and so does the second of two with the same.
        this.#copies.add(`${key}\0${column}`, content);
        continue;
      }
      this.members += 1;
      this.#sum.add(`${key}\0${column}`, content);
      if (source === undefined) continue;
      this.images.images += 1;
      this.images.sourceBytes += source.size;
      this.images.bytes += size;
    }
  }

  /** The copies that a compaction is to make of these. */
  addCopies(lines: readonly MemberLine[], added: ReadonlyMap<number, number>): void {
    for (const line of lines) {
      const count = line.repeat === undefined ? (added.get(line.sample) ?? 0) : 0;
      const { key = '', etag = '', column = '', size } = line;
      for (let copy = 0; copy < count; copy += 1)
        this.#copies.add(`${key}\0${column}`, `${etag}\0${contentOf(line)}\0${size}`);
    }
  }

  equals(other: MemberTally): boolean {
    return this.#sum.equals(other.#sum) && this.members === other.members;
  }

  hasCopiesOf(other: MemberTally): boolean {
    return this.#copies.equals(other.#copies);
  }
}
