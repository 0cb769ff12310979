/** Labels that must be whole numbers. */
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { UnfitSampleError } from '../documents/shard-format.ts';

/** For a format that may hold labels as int64. */
export const integerLabel = (label: string, { labelType }: PackingSettings): string | undefined =>
  labelType === 'integer' && INTEGER.test(label.trim()) ? `${BigInt(label.trim())}` : undefined;

const INTEGER = /^-?\d{1,19}$/;
const LARGEST = 2n ** 63n;

/** The int64 of a label's text, without the blanks around it. @throws UnfitSampleError */
export function parseIntegerLabel(text: string): bigint {
  const bare = text.trim();
  if (!INTEGER.test(bare)) throw new UnfitSampleError('labelNotAnInteger');
  const value = BigInt(bare);
  if (value >= LARGEST || value < -LARGEST) throw new UnfitSampleError('labelNotAnInteger');
  return value;
}
