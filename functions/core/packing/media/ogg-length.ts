/** Ogg with Vorbis, Opus or FLAC (RFC 3533, RFC 7845): the first page has the rate, the last one the position. */
import type { HeldBytes } from './held-bytes.ts';
import { lasting, type SoundFacts } from './sound-facts.ts';

/** Positions of Opus count so many per second, whatever was recorded. */
const OPUS_RATE = 48_000;
/** A page has 65,307 bytes at most. */
const TAIL_BYTES = 2 * 65_307;

export function oggFacts(held: HeldBytes): SoundFacts | undefined {
  const head = held.slice(0, 512);
  const [rate, skipped] = rateOf(head);
  if (rate === 0) return undefined;
  return { rate, ...lasting(lastPosition(held, head.readUInt32LE(14)) - skipped, rate) };
}

/** And the samples before the first that is heard. */
function rateOf(head: Buffer): readonly [number, number] {
  if (head.length < 80) return [0, 0];
  const packet = head.subarray(27 + (head[26] ?? 0));
  const name = packet.toString('latin1', 0, 8);
  if (packet.length < 21) return [0, 0];
  if (name.startsWith('\u0001vorbis')) return [packet.readUInt32LE(12), 0];
  if (name === 'OpusHead') return [OPUS_RATE, packet.readUInt16LE(10)];
  if (name.startsWith('\u007fFLAC') && packet.length >= 30) return [packet.readUIntBE(27, 3) >>> 4, 0];
  return [0, 0];
}

/** Of the last page of the stream; 0 if the end is not held. */
function lastPosition(held: HeldBytes, serial: number): number {
  if (!held.isWhole) return 0;
  const tail = held.slice(held.size - TAIL_BYTES, held.size);
  for (let at = tail.lastIndexOf('OggS', undefined, 'latin1'); at >= 0; ) {
    const isPage = at + 27 <= tail.length && tail.readUInt32LE(at + 14) === serial;
    const position = isPage ? tail.readBigInt64LE(at + 6) : -1n;
    if (position >= 0n) return Number(position);
    at = at === 0 ? -1 : tail.lastIndexOf('OggS', at - 1, 'latin1');
  }
  return 0;
}
