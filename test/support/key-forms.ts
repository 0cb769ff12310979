/** Keys as people and programs name them, and of the worst kind for one who has to guess where the next ones lie. */

import { seededUint32 } from '@tidewheel/kit/seeded-random.ts';
import { compareKeys } from '@tidewheel/packing/bundles.ts';

const digits = (number: number, width: number): string => String(number).padStart(width, '0');
const hex = (seed: number): string => seededUint32(seed)().toString(16).padStart(8, '0');
const CLASSES = ['ant', 'bee', 'cat', 'dog', 'elephant', 'fox', 'horse', 'zebra'];
const ideograph = (number: number): string => String.fromCodePoint(0x4e00 + (number % 3_000));

/** Each with the name of a number. */
export const KEY_FORMS: readonly (readonly [string, (index: number) => string])[] = [
  ['numbers', (index) => digits(index, 9)],
  ['numbers of any length', (index) => `img_${index}.jpg`],
  ['one long common prefix', (index) => `${'train/images/'.repeat(20)}photo-${digits(index, 8)}.jpeg`],
  ['folders of a thousand', (index) => `d${digits(Math.floor(index / 1_000), 4)}/${digits(index, 9)}.jpg`],
  ['hashes', hex],
  [
    'folders with random names',
    (index) => `${hex(Math.floor(index / 300))}/frame-${digits(index % 300, 6)}.png`,
  ],
  ['dates', (index) => new Date(Date.UTC(2025, 0) + index * 3e5).toISOString().replaceAll(/[-T]/g, '/')],
  [
    'classes of unequal size',
    (index) => `${CLASSES[index % 3 === 0 ? index % 8 : 3]}/${digits(index, 7)}.jpg`,
  ],
  [
    'one crowded folder among random names',
    (index) => (index % 50 === 0 ? hex(index) : `8/a/b/${digits(index, 9)}`),
  ],
  ['words in another script', (index) => `${ideograph(index * 7)}${ideograph(index * 31)}-${index}`],
  ['plus and percent', (index) => `50%+tax ${digits(index, 6)}%2F+.csv`],
  ['pairs', (index) => `${digits(index >> 1, 8)}.${index % 2 === 0 ? 'jpg' : 'json'}`],
  ['keys that differ at the end', (index) => `${'0'.repeat(400)}/${'z'.repeat(400)}-${digits(index, 6)}`],
];

/** Sorted, each once. */
export const keysOf = (count: number, nameOf: (index: number) => string): readonly string[] =>
  [...new Set(Array.from({ length: count }, (_, index) => nameOf(index)))].sort(compareKeys);
