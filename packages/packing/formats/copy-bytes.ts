/** Writes a member's bytes and computes their digest. */
import { createHash, hash } from 'node:crypto';
import type { MemberBody, ShardSink } from '../documents/shard-format.ts';

export const isInMemory = (body: MemberBody): body is readonly Uint8Array[] => Array.isArray(body);

/**
 * Returns the SHA-256 of the written bytes; a promise only if something had to wait, which is rare for a body in
 * memory.
 * @param each sees every chunk
 */
export function copyBytes(
  sink: ShardSink,
  body: MemberBody,
  each?: (chunk: Uint8Array) => void,
): string | Promise<string> {
  return isInMemory(body) ? copyChunks(sink, body, each) : copyStream(sink, body, each);
}

async function copyStream(
  sink: ShardSink,
  body: AsyncIterable<Uint8Array>,
  each?: (chunk: Uint8Array) => void,
): Promise<string> {
  const digest = createHash('sha256');
  for await (const chunk of body) {
    each?.(chunk);
    digest.update(chunk);
    await sink.write(chunk);
  }
  return digest.digest('hex');
}

export const bytesIn = (chunks: readonly Uint8Array[]): number =>
  chunks.reduce((sum, { length }) => sum + length, 0);

/** The body must be in memory, and the sink must have room for it. */
export function copyBytesSync(sink: ShardSink, chunks: readonly Uint8Array[]): string {
  for (const chunk of chunks) void sink.write(chunk);
  return digestOf(chunks, sink.recent(bytesIn(chunks)));
}

function copyChunks(
  sink: ShardSink,
  chunks: readonly Uint8Array[],
  each?: (chunk: Uint8Array) => void,
): string | Promise<string> {
  let size = 0;
  let written = 0;
  for (const chunk of chunks) {
    each?.(chunk);
    size += chunk.length;
    written += 1;
    const full = sink.write(chunk);
    if (full !== undefined) return copyRest(sink, { chunks, next: written, full }, each);
  }
  return digestOf(chunks, sink.recent(size));
}

/** Goes on after a write that had to wait. The written bytes no longer lie together. */
async function copyRest(
  sink: ShardSink,
  { chunks, next, full }: { chunks: readonly Uint8Array[]; next: number; full: Promise<void> },
  each?: (chunk: Uint8Array) => void,
): Promise<string> {
  await full;
  for (const chunk of chunks.slice(next)) {
    each?.(chunk);
    await sink.write(chunk);
  }
  return digestOf(chunks, undefined);
}

/** Hashing bytes that lie together is several times faster than hashing them in pieces. */
function digestOf(chunks: readonly Uint8Array[], together: Uint8Array | undefined): string {
  const whole = chunks.length === 1 ? chunks[0] : together;
  if (whole !== undefined) return hash('sha256', whole);
  const digest = createHash('sha256');
  for (const chunk of chunks) digest.update(chunk);
  return digest.digest('hex');
}

/** The whole body, for formats that need it at once. */
export async function collect(body: MemberBody): Promise<Buffer> {
  if (isInMemory(body)) return Buffer.concat(body);
  const chunks: Uint8Array[] = [];
  // A copy, because the memory of a piece is used again for a later one.
  for await (const chunk of body) chunks.push(Uint8Array.prototype.slice.call(chunk));
  return Buffer.concat(chunks);
}
