/** Labels that must be whole numbers. */
import { UnfitSampleError } from '../model/shard-format.ts';

const LARGEST = 2n ** 63n;

/** The int64 of a label's text, without the blanks around it. @throws UnfitSampleError */
export function parseIntegerLabel(text: string): bigint {
  const bare = text.trim();
  if (!/^-?\d{1,19}$/.test(bare)) throw new UnfitSampleError('labelNotAnInteger');
  const value = BigInt(bare);
  if (value >= LARGEST || value < -LARGEST) throw new UnfitSampleError('labelNotAnInteger');
  return value;
}
