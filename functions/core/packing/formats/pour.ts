/** Writes a member's bytes and digests them on the way. */
import { createHash, hash } from 'node:crypto';
import type { MemberBody, ShardSink } from './format.ts';

const isInMemory = (body: MemberBody): body is readonly Uint8Array[] => Array.isArray(body);

/** @returns SHA-256 of what was written; `each` sees every chunk as well */
export async function pour(
  sink: ShardSink,
  body: MemberBody,
  each?: (chunk: Uint8Array) => void,
): Promise<string> {
  if (isInMemory(body)) return pourChunks(sink, body, each);
  const digest = createHash('sha256');
  for await (const chunk of body) {
    each?.(chunk);
    digest.update(chunk);
    await sink.write(chunk);
  }
  return digest.digest('hex');
}

async function pourChunks(
  sink: ShardSink,
  chunks: readonly Uint8Array[],
  each?: (chunk: Uint8Array) => void,
): Promise<string> {
  let size = 0;
  for (const chunk of chunks) {
    each?.(chunk);
    size += chunk.length;
    await sink.write(chunk);
  }
  return digestOf(chunks, sink.recent(size));
}

/** One hash over bytes that lie together is several times cheaper than one over pieces. */
function digestOf(chunks: readonly Uint8Array[], together: Uint8Array | undefined): string {
  const whole = together ?? (chunks.length === 1 ? chunks[0] : undefined);
  if (whole !== undefined) return hash('sha256', whole);
  const digest = createHash('sha256');
  for (const chunk of chunks) digest.update(chunk);
  return digest.digest('hex');
}

/** Everything of a body at once, for formats that must see it whole. */
export async function collect(body: MemberBody): Promise<Buffer> {
  if (isInMemory(body)) return Buffer.concat(body);
  const chunks: Uint8Array[] = [];
  for await (const chunk of body) chunks.push(chunk);
  return Buffer.concat(chunks);
}
