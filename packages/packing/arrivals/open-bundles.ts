/** Merges the members of bundles into the listing of `incoming/`, as if each were an object. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { Heap } from '@tidewheel/kit/heap.ts';
import { eachLimited } from '@tidewheel/kit/limited.ts';
import { type BlobStore, joinChunks, type ListedBlob, listPages } from '../documents/blob-store.ts';
import { compareKeys } from '../documents/order.ts';
import type { Rejection } from '../documents/rejections.ts';
import { BundleIndex, type IndexedMember, MOST_INDEX_BYTES, readBundleIndex } from './bundle-index.ts';
import { bundledEtag, bundleFile } from './bundle-place.ts';

/** A bundle whose index can be taken. */
export interface Bundle {
  readonly id: string;
  readonly index: BundleIndex;
  /** Of the index: when its members arrived, ISO 8601. */
  readonly arrivedAt: string;
}

const INDEXES_AT_ONCE = 16;

/** All bundles of a pipeline, as they lie in the bucket. */
export class Bundles {
  readonly #pipeline: string;
  /** In a fixed order. */
  readonly all: readonly Bundle[];
  /** Indexes that cannot be taken. */
  readonly #refused: ReadonlyMap<string, Rejection>;
  /** Whether anything lies in their folder. */
  readonly isAny: boolean;
  /** When their listing began, ISO 8601: what arrived before is seen. */
  readonly listedAt: string;

  constructor(
    pipeline: string,
    {
      all,
      refused,
      isAny,
      listedAt,
    }: Pick<Bundles, 'all' | 'isAny' | 'listedAt'> & {
      readonly refused: ReadonlyMap<string, Rejection>;
    },
  ) {
    this.#pipeline = pipeline;
    this.all = all;
    this.#refused = refused;
    this.isAny = isAny;
    this.listedAt = listedAt;
  }

  /** Every page with the members whose keys belong there, and a last one with the rest. */
  async *merged(
    pages: AsyncIterable<{ readonly objects: readonly ListedBlob[] }>,
  ): AsyncGenerator<readonly ListedBlob[]> {
    const members = this.members();
    let next = members.next();
    for await (const { objects } of pages) {
      const merged: ListedBlob[] = [];
      for (const object of this.#shown(objects)) {
        while (next.done !== true && compareKeys(next.value.member.key, object.key) < 0) {
          merged.push(next.value.member);
          next = members.next();
        }
        const same =
          next.done !== true && next.value.member.key === object.key ? next.value.member : undefined;
        merged.push(same === undefined ? object : newer(same, object));
        if (same !== undefined) next = members.next();
      }
      yield merged;
    }
    for (let rest: ListedBlob[] = []; next.done !== true; rest = []) {
      for (; next.done !== true && rest.length < 1_000; next = members.next()) rest.push(next.value.member);
      yield rest;
    }
  }

  /** Without the bundles themselves. An index that cannot be taken is an arrival that is refused. */
  #shown(page: readonly ListedBlob[]): readonly ListedBlob[] {
    const folder = bucketKeys.bundles(this.#pipeline);
    if (!page.some(({ key }) => key.startsWith(folder))) return page;
    return page.flatMap((object) => {
      const refused = this.#refused.get(object.key);
      if (refused !== undefined) return [{ ...object, refused }];
      return bundleFile(this.#pipeline, object.key) === undefined ? [object] : [];
    });
  }

  /** The members of all bundles in the order of keys. Of a key that several hold, the newest. */
  *members(): Generator<BundledArrival> {
    const incoming = bucketKeys.incoming(this.#pipeline);
    const cursors = this.all.map((bundle) => new MemberCursor(bundle));
    const waiting = new Heap(
      cursors.filter(({ member }) => member !== undefined),
      byKey,
    );
    let held: BundledArrival | undefined;
    for (let cursor = waiting.least; cursor !== undefined; cursor = waiting.least) {
      const member = cursor.listed(incoming);
      const isSame = held?.member.key === member.key;
      if (held !== undefined && !isSame) yield held;
      held =
        held !== undefined && isSame
          ? { member: newer(held.member, member), holders: [...held.holders, cursor.bundle] }
          : { member, holders: [cursor.bundle] };
      cursor.step();
      if (cursor.member === undefined) waiting.drop();
      else waiting.sink();
    }
    if (held !== undefined) yield held;
  }
}

export interface BundledArrival {
  readonly member: ListedBlob;
  /** All bundles that hold a version of it. */
  readonly holders: readonly Bundle[];
}

/** Of two that arrived in the same second, the second one. */
export const newer = (first: ListedBlob, second: ListedBlob): ListedBlob =>
  Date.parse(first.lastModified) > Date.parse(second.lastModified) ? first : second;

/** @param now used only if the store's answers have no time */
export async function openBundles(
  { store, now }: { readonly store: BlobStore; readonly now: () => Date },
  pipeline: string,
): Promise<Bundles> {
  const { data, indexes, isAny, listedAt } = await listFiles({ store, now }, pipeline);
  const all: Bundle[] = [];
  const refused = new Map<string, Rejection>();
  await eachLimited(indexes, INDEXES_AT_ONCE, async ({ id, object }) => {
    const index = await openIndex(store, { object, pipeline, dataBytes: data.get(id) });
    if (index instanceof BundleIndex) all.push({ id, index, arrivedAt: object.lastModified });
    else if (index !== 'gone') refused.set(object.key, index);
  });
  // Answers come in any order.
  const inOrder = all.toSorted((a, b) => (a.id < b.id ? -1 : 1));
  return new Bundles(pipeline, { all: inOrder, refused, isAny, listedAt });
}

interface BundleFiles {
  /** Bytes of each data object. */
  readonly data: ReadonlyMap<string, number>;
  readonly indexes: readonly { readonly id: string; readonly object: ListedBlob }[];
  readonly isAny: boolean;
  readonly listedAt: string;
}

async function listFiles(
  { store, now }: { readonly store: BlobStore; readonly now: () => Date },
  pipeline: string,
): Promise<BundleFiles> {
  const data = new Map<string, number>();
  const indexes: { id: string; object: ListedBlob }[] = [];
  let isAny = false;
  let listedAt: string | undefined;
  for await (const { objects, serverTime } of listPages(store, bucketKeys.bundles(pipeline))) {
    listedAt ??= (serverTime === undefined ? now() : new Date(serverTime)).toISOString();
    isAny ||= objects.length > 0;
    for (const object of objects) {
      const file = bundleFile(pipeline, object.key);
      if (file?.kind === 'data') data.set(file.bundle, object.size);
      if (file?.kind === 'index') indexes.push({ id: file.bundle, object });
    }
  }
  return { data, indexes, isAny, listedAt: listedAt ?? now().toISOString() };
}

async function openIndex(
  store: BlobStore,
  {
    object,
    pipeline,
    dataBytes,
  }: { readonly object: ListedBlob; readonly pipeline: string; readonly dataBytes: number | undefined },
): Promise<BundleIndex | Rejection | 'gone'> {
  if (dataBytes === undefined) return 'bundleWithoutData';
  if (object.size > MOST_INDEX_BYTES) return 'bundleTooLarge';
  const found = await store.get(object.key, { ifMatch: object.etag });
  // It was deleted or written again since it was listed: then it belongs to the next run.
  if (found.kind !== 'found') return 'gone';
  const prefixBytes = Buffer.byteLength(bucketKeys.incoming(pipeline));
  return readBundleIndex(joinChunks(found.chunks), { dataBytes, prefixBytes });
}

/** A walk through the members of one bundle. */
class MemberCursor {
  readonly bundle: Bundle;
  readonly #lines: Iterator<IndexedMember>;
  /** Undefined at the end. */
  member: IndexedMember | undefined;

  constructor(bundle: Bundle) {
    this.bundle = bundle;
    this.#lines = bundle.index.read();
    this.step();
  }

  get key(): string {
    return this.member?.[0] ?? '';
  }

  step(): void {
    const next = this.#lines.next();
    this.member = next.done === true ? undefined : next.value;
  }

  listed(incoming: string): ListedBlob {
    if (this.member === undefined) throw new Error(`bundle ${this.bundle.id} has no further member`);
    const [key, offset, size, md5] = this.member;
    const etag = bundledEtag({ md5, bundle: this.bundle.id, offset });
    return { key: incoming + key, size, etag, lastModified: this.bundle.arrivedAt };
  }
}

/** Of one key, the bundles come in the order of their names. */
const byKey = (a: MemberCursor, b: MemberCursor): number =>
  compareKeys(a.key, b.key) || compareKeys(a.bundle.id, b.bundle.id);
