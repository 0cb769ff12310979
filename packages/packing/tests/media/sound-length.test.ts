/** Duration and rate of audio and video. */
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { box, movie, movieOf, SOUND, track, VIDEO } from '../../../../test/support/builders/media-files.ts';
import { mediaFacts } from '../../media/media-facts.ts';

const factsOf = (name: string, bytes: Uint8Array) => mediaFacts(name, [bytes], bytes.length);

const FILES = [
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

  it('are not guessed where the index is not held', () => {
    expect(mediaFacts('a.mov', [movie(true, 'end').subarray(0, 200_000)], 400_000)).toBeUndefined();
  });

  it('have no rate of sound before a video', () => {
    const long = [track('soun', SOUND), box('udta', Buffer.alloc(200_000)), track('vide', VIDEO)];
    const headOf = (brand: string) => {
      const bytes = movieOf(long, { brand });
      return mediaFacts('a.mp4', [bytes.subarray(0, 100_000)], bytes.length);
    };
    expect(headOf('isom')).toEqual({ seconds: 3 });
    expect(headOf('M4A ')).toEqual({ rate: 44_100, seconds: 3 });
  });

  it('have no rate of half a table', () => {
    const bytes = movieOf([track('vide', { ...VIDEO, entries: 20_000 })]);
    expect(mediaFacts('a.mp4', [bytes.subarray(0, 100_000)], bytes.length)).toEqual({ seconds: 3 });
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
