import { packingSchema } from '@tidewheel/declaration/packing-settings.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { columnOf } from '../documents/columns.ts';
import { memberStem, memberSuffix, splitKey } from '../documents/member-names.ts';
import { labelOfKey } from '../documents/sample-names.ts';

describe('splitting a key', () => {
  it.each([
    ['a/b.jpg', 'a/b', 'jpg'],
    ['a/b.seg.png', 'a/b', 'seg.png'],
    ['frame.0001.jpg', 'frame.0001', 'jpg'],
    ['2024.01.02.jpg', '2024.01.02', 'jpg'],
    ['a.b/c', 'a.b/c', ''],
    ['.hidden', '.hidden', ''],
    ['.hidden.png', '.hidden', 'png'],
    ['dir/.x.y', 'dir/.x', 'y'],
    ['a.', 'a', ''],
    ['...', '..', ''],
  ])('%s', (key, stem, suffix) => {
    expect(splitKey(key)).toEqual({ stem, suffix });
  });
});

describe('a name inside a shard', () => {
  it('is the stem if every reader accepts it', () => {
    for (const stem of [
      'a',
      'a/b',
      'train/cat-1',
      'with space/é',
      'v1.0/x',
      `${'d'.repeat(69)}/${'x'.repeat(130)}`,
    ])
      expect(memberStem(stem)).toBe(stem);
  });

  it('is unique and safe for any stem', () => {
    // It never climbs out of a folder, hides a file or breaks a line.
    const text = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 30 });
    fc.assert(
      fc.property(
        fc.uniqueArray(
          fc.oneof(text, fc.constantFrom('..', '../a', '/a', '__a__', 'a~b', 'a_b', 'a.b', '.a', 'a//b')),
        ),
        (stems) => {
          const names = stems.map((stem) => memberStem(stem));
          expect(new Set(names).size).toBe(stems.length);
          for (const name of names) {
            expect(name).not.toMatch(/^\/|(^|\/)\.|\/\/|\p{Cc}|(^|\/)__[^/]*__(\/|$)/u);
            expect(name.slice(name.lastIndexOf('/') + 1)).not.toContain('.');
            expect(Buffer.byteLength(name)).toBeLessThan(256);
          }
        },
      ),
    );
  });

  it('is never the folder of another name', () => {
    // Keys such as `a.jpg` and `a.jpg/b.jpg`.
    const nameOf = (key: string): string => {
      const { stem, suffix } = splitKey(key);
      return `${memberStem(stem)}.${memberSuffix(suffix)}`;
    };
    const name = fc.stringMatching(/^[a-z0-9_ .-]{1,12}$/);
    const ending = fc.constantFrom(
      'jpg',
      'JPG',
      'jpeg',
      'png',
      'tiff',
      'mp4',
      'json',
      'txt',
      'parquet',
      'seg.png',
    );
    fc.assert(
      fc.property(name, ending, name, ending, (folder, like, file, suffix) => {
        const [outer, inner] = [nameOf(`${folder}.${like}`), nameOf(`${folder}.${like}/${file}.${suffix}`)];
        expect(inner.toLowerCase().startsWith(`${outer.toLowerCase()}/`)).toBe(false);
      }),
    );
    expect(memberStem('x/a.jpg/b')).toMatch(/^x\/a_jpg\/b~[0-9a-f]{24}$/);
  });

  it('has file-system-safe segments for the longest keys', () => {
    // Keys of 1,024 bytes. Each name has one suffix.
    const dots = ['a', 'b'].map((end) => `${'x'.repeat(130)}.folder${'y'.repeat(20)}/${end}`);
    const long = ['s'.repeat(900), 'd'.repeat(139), `${'d/'.repeat(60)}${'\u00e9'.repeat(300)}`, ...dots];
    const suffix = memberSuffix(`${'z'.repeat(80)}\n`);
    for (const stem of long) {
      const name = `${memberStem(stem)}~again10000000099.${suffix}`;
      for (const segment of name.split('/')) expect(Buffer.byteLength(segment)).toBeLessThan(256);
      expect(memberStem(stem).split('/').at(-1)).not.toContain('.');
    }
    expect(new Set(long.map((stem) => memberStem(stem))).size).toBe(long.length);
  });

  it('differs for a bare key and its equal stem', () => {
    for (const key of ['.', '..', ' ', 'a\n']) expect(memberStem(key, key)).not.toBe(memberStem(key));
  });

  it('has a suffix that readers and indexes accept', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 30 }), (suffix) => {
        expect(memberSuffix(suffix)).toMatch(/^(?!__)[a-z0-9_-]+(\.[a-z0-9_-]+)*$/);
      }),
    );
    expect(memberSuffix('__key__')).toMatch(/^key__-[0-9a-f]{24}$/);
    expect(memberSuffix('JPG')).toBe('jpg');
    expect(memberSuffix('seg.png')).toBe('seg.png');
  });
});

describe('labels and columns', () => {
  it('come from the folder, or from the name', () => {
    expect(labelOfKey('train/cat/1.jpg', { label: 'parentFolder' })).toBe('cat');
    expect(labelOfKey('1.jpg', { label: 'parentFolder' })).toBeUndefined();
    expect(labelOfKey('x/cat_001.jpg', { label: 'namePattern', labelPattern: '([a-z]+)_\\d' })).toBe('cat');
    expect(labelOfKey('x/001.jpg', { label: 'namePattern', labelPattern: '([a-z]+)_\\d' })).toBeUndefined();
    expect(labelOfKey('x/001.jpg', { label: 'none' })).toBeUndefined();
  });

  it('need a valid pattern with one group', () => {
    for (const labelPattern of ['(', 'abc', '(a)(b)'])
      expect(packingSchema.safeParse({ labelPattern }).success).toBe(false);
    expect(packingSchema.safeParse({ label: 'namePattern', labelPattern: '^([a-z]+)_' }).success).toBe(true);
  });

  it.each([
    ['jpg', 'image'],
    ['seg.png', 'seg'],
    ['cls', 'label'],
    ['json', 'json'],
    ['left-eye.jpeg', 'left_eye'],
    ['label.png', 'label_png'],
  ])('%s is the column %s', (suffix, column) => {
    expect(columnOf(suffix)).toBe(column);
  });
});
