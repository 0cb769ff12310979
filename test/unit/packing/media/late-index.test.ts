/** The index of a movie that lies behind the first bytes: how much is read, and what it says. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { LateIndex, StreamedHead } from '../../../../functions/core/packing/media/late-index.ts';
import { HEAD_BYTES } from '../../../../functions/core/packing/media/media-facts.ts';
import { box, lateMovie, movie, SOUND, track, VIDEO } from '../../../support/builders/media-files.ts';

const MEBIBYTE = 1024 * 1024;
const headOf = (bytes: Buffer): Buffer => bytes.subarray(0, HEAD_BYTES);
const lateOf = (bytes: Buffer, size = bytes.length): LateIndex | undefined =>
  LateIndex.of('a.mp4', [headOf(bytes)], size);

/** By a range request. */
function factsOf(bytes: Buffer, name = 'a.mp4') {
  const late = LateIndex.of(name, [headOf(bytes)], bytes.length);
  return late?.facts([bytes.subarray(late.offset, late.offset + late.length)]);
}

const streamed = (bytes: Buffer, chunk: number) => {
  const kept = new StreamedHead('a.mp4', bytes.length);
  for (let at = 0; at < bytes.length; at += chunk) kept.add(bytes.subarray(at, at + chunk));
  return kept.indexFacts;
};

const video = track('vide', VIDEO);
const sound = track('soun', SOUND);

describe('an index behind the data', () => {
  it.each([false, true])('gives duration and rate (video: %o)', (isVideo) => {
    const bytes = movie(isVideo, 'end');
    expect(factsOf(bytes)).toEqual({ rate: isVideo ? 25 : 44_100, seconds: 3 });
    expect(lateOf(bytes)?.length).toBe(bytes.length - (lateOf(bytes)?.offset ?? 0));
  });

  it('is found behind small boxes and long sizes', () => {
    expect(factsOf(lateMovie({ before: [box('free', Buffer.alloc(5_000))] }))).toEqual({
      rate: 25,
      seconds: 3,
    });
    expect(factsOf(lateMovie({ isLong: true }))).toEqual({ rate: 25, seconds: 3 });
  });

  it('has a range of 1 MiB at most', () => {
    const bytes = lateMovie({ tracks: [video, box('udta', Buffer.alloc(3 * MEBIBYTE))] });
    expect(lateOf(bytes)?.length).toBe(MEBIBYTE);
    expect(factsOf(bytes)).toEqual({ rate: 25, seconds: 3 });
  });

  it('gives no rate of sound before a video', () => {
    const long = [sound, box('udta', Buffer.alloc(2 * MEBIBYTE)), video];
    expect(factsOf(lateMovie({ tracks: long }))).toEqual({ seconds: 3 });
    expect(factsOf(lateMovie({ tracks: long, brand: 'M4A ' }))).toEqual({ rate: 44_100, seconds: 3 });
  });

  it('gives no rate of half a table', () => {
    const many = track('vide', { ...VIDEO, entries: 200_000 });
    expect(factsOf(lateMovie({ tracks: [many] }))).toEqual({ seconds: 3 });
  });

  it.each([1, 97, 4_096, HEAD_BYTES - 3, HEAD_BYTES, 300_007])(
    'is held while chunks of %d bytes pass',
    (chunk) => {
      const bytes = movie(true, 'end');
      expect(streamed(bytes, chunk)).toEqual({ rate: 25, seconds: 3 });
    },
  );

  it('is held where it begins in the head', () => {
    for (let early = 0; early <= 17; early += 1) {
      const bytes = lateMovie({ data: HEAD_BYTES - 24 - early });
      const facts = streamed(bytes, 10_007) ?? 'in the head';
      expect(facts).toEqual(early > 15 ? 'in the head' : { rate: 25, seconds: 3 });
    }
  });
});

describe('no index is read', () => {
  it.each([
    ['in front', movie(true, 'front')],
    ['that the sizes put outside the file', lateMovie({}).subarray(0, 280_000)],
    ['of what is no movie', Buffer.alloc(400_000, 'mdat')],
  ])('%s', (_, bytes) => {
    expect(lateOf(bytes)).toBeUndefined();
    expect(streamed(bytes, 50_000)).toBeUndefined();
  });

  it('of another name', () => {
    expect(LateIndex.of('a.jpg', [headOf(movie(true, 'end'))], 400_000)).toBeUndefined();
  });

  it('outside the file, whatever the sizes say', () => {
    const sizes = fc.tuple(fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }), fc.nat(2 ** 32 - 1), fc.nat(2 ** 40));
    fc.assert(
      fc.property(sizes, fc.uint8Array({ maxLength: 64 }), ([long, short, size], rest) => {
        const head = Buffer.concat([box('ftyp', Buffer.from('isom\0\0\0\0')), Buffer.alloc(16), rest]);
        head.writeUInt32BE(short % 3 === 0 ? 1 : short, 16);
        head.write('mdat', 20);
        head.writeBigUInt64BE(long, 24);
        const late = lateOf(head, size);
        if (late === undefined) return;
        expect(late.offset + 16).toBeLessThanOrEqual(size);
        expect(late.offset + late.length).toBeLessThanOrEqual(size);
        expect(late.length).toBeLessThanOrEqual(MEBIBYTE);
        expect(() => late.facts([Buffer.from(rest)])).not.toThrow();
      }),
      { numRuns: 2_000 },
    );
  });
});
