/** A key half way between two others, for where nothing is known of the keys. */
import { compareKeys } from '../model/order.ts';

/** Where blocks of characters begin: an open end is looked for within the block of the character before it. */
const BLOCKS = [0x7f, 0x0800, 0x3100, 0xd7ff, 0x1_0000, 0x10_ffff];
const SURROGATES = [0xd800, 0xdfff] as const;

const codeAt = (text: string, index: number): number => text.codePointAt(index) ?? 0x1f;

/** `start` followed by a character half way between two others. */
function halfWay(start: string, low: number, high: number): string | undefined {
  if (high - low < 2) return undefined;
  const middle = low + Math.ceil((high - low) / 2);
  const key =
    start + String.fromCodePoint(middle >= SURROGATES[0] && middle <= SURROGATES[1] ? 0xd7ff : middle);
  return key.isWellFormed() ? key : undefined;
}

/** Most characters behind the first difference that are considered. */
const DEPTH = 24;

/**
 * @param until undefined: the end of all keys with the prefix
 * @returns undefined if a request would not be worth it
 */
export function keyBetween(after: string, until: string | undefined, prefix = ''): string | undefined {
  let index = until === undefined ? prefix.length : 0;
  while (until !== undefined && index < until.length && after[index] === until[index]) index += 1;
  for (let at = index; at <= Math.min(after.length, index + DEPTH); at += 1) {
    const low = codeAt(after, at);
    const high = at === index && until !== undefined ? codeAt(until, at) : BLOCKS.find((end) => end > low);
    const key = high === undefined ? undefined : halfWay(after.slice(0, at), low, high);
    if (key !== undefined && compareKeys(after, key) < 0) return key;
  }
  return undefined;
}
