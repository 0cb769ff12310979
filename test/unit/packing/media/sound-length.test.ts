/** Duration and rate of audio and video. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { mediaFacts } from '../../../../functions/core/packing/media/media-facts.ts';
import {
  adts,
  constantMp3,
  KBITS_64,
  KBITS_128,
  movie,
  mp3Frame,
  opus,
  vorbis,
  webm,
} from '../../../support/builders/media-files.ts';

const factsOf = (name: string, bytes: Uint8Array) => mediaFacts(name, [bytes], bytes.length);

const FILES = [
  ['a.mp3', constantMp3(100), { rate: 44_100, seconds: 2.6 }],
  ['a.aac', adts(100), { rate: 44_100, seconds: 2.322 }],
  ['a.opus', opus(144_312, 312), { rate: 48_000, seconds: 3 }],
  ['a.ogg', vorbis(132_300, 44_100), { rate: 44_100, seconds: 3 }],
  ['a.webm', webm(false), { rate: 48_000, seconds: 3 }],
  ['a.mkv', webm(true), { rate: 25, seconds: 3 }],
  ['a.m4a', movie(false, 'front'), { rate: 44_100, seconds: 3 }],
  ['a.mp4', movie(true, 'front'), { rate: 25, seconds: 3 }],
  ['a.mov', movie(true, 'end'), { rate: 25, seconds: 3 }],
] as const;

describe('duration and rate', () => {
  it.each(FILES)('are read from %s', (name, bytes, facts) => {
    expect(factsOf(name, bytes)).toEqual(facts);
  });

  it.each(FILES)('are the same in small chunks: %s', (name, bytes, facts) => {
    const chunks: Buffer[] = [];
    for (let at = 0; at < bytes.length; at += 97) chunks.push(bytes.subarray(at, at + 97));
    expect(mediaFacts(name, chunks, bytes.length)).toEqual(facts);
  });

  it('are not guessed where the end is not held', () => {
    const headOf = (name: string, bytes: Buffer) =>
      mediaFacts(name, [bytes.subarray(0, bytes.length - 150)], bytes.length);
    expect(headOf('a.aac', adts(100))).toEqual({ rate: 44_100 });
    expect(headOf('a.opus', opus(144_312, 312))).toEqual({ rate: 48_000 });
    expect(mediaFacts('a.mov', [movie(true, 'end').subarray(0, 200_000)], 400_000)).toBeUndefined();
  });

  it('are not guessed from an MP3 whose bitrate varies', () => {
    const frames = Array.from({ length: 20 }, (_, at) => mp3Frame(at === 12 ? KBITS_128 : KBITS_64));
    expect(factsOf('a.mp3', Buffer.concat(frames))).toEqual({ rate: 44_100 });
  });

  it('are absent below a thousandth', () => {
    expect(factsOf('a.opus', opus(313, 312))).toEqual({ rate: 48_000 });
  });

  it('are numbers, whatever is damaged', () => {
    const damaged = fc.tuple(fc.constantFrom(...FILES), fc.nat(2_000), fc.uint8Array({ maxLength: 8 }));
    fc.assert(
      fc.property(damaged, fc.nat(), ([[name, bytes], at, noise], cut) => {
        const noisy = Buffer.from(bytes.subarray(0, bytes.length - (cut % bytes.length)));
        noisy.set(noise.subarray(0, Math.max(0, noisy.length - at)), Math.min(at, noisy.length));
        const facts = Object.values(factsOf(name, noisy) ?? {});
        expect(facts.every((value) => Number.isFinite(value) && Number(value) > 0)).toBe(true);
      }),
      { numRuns: 500 },
    );
  });
});
