/** Reads the sealed member list of one shard. */
import { hash } from 'node:crypto';
import { type BlobStore, joinChunks } from './blob-store.ts';
import { linesOf, readableText } from './compressed-lines.ts';
import { DocumentError, type MemberLine, memberLine } from './documents.ts';
import { type Manifest } from './manifest.ts';
import type { PackingKeys } from './packing-keys.ts';

/** @throws DocumentError if it is not the list that was sealed */
export async function memberLines(
  store: BlobStore,
  keys: PackingKeys,
  shard: Manifest['shards'][number],
): Promise<MemberLine[]> {
  const key = `${keys.generation}${shard.memberList}`;
  const found = await store.get(key);
  const text = found.kind === 'found' ? readableText(joinChunks(found.chunks)) : '';
  if (hash('sha256', text) !== shard.memberListSha256)
    throw new DocumentError(
      `${key} is not the sealed list: restore it from an older version of the object, or run ${keys.repair}`,
    );
  return [...linesOf(text)].map((line) => memberLine.parse(JSON.parse(line)));
}
