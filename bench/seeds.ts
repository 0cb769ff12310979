/** The seeds that a command plays: whole numbers and ranges of them, as in 1-20 or 3,7,9. */
import * as z from 'zod';

const SEEDS = 'give whole numbers or ranges of them, as in 1-20 or 3,7,9';
const MOST = 10_000;

export const seedList = z
  .string()
  .regex(/^\d{1,9}(-\d{1,9})?(,\d{1,9}(-\d{1,9})?)*$/, SEEDS)
  .transform((text) =>
    text.split(',').flatMap((part) => {
      const [from = 0, to = from] = part.split('-').map(Number);
      return Array.from({ length: Math.max(0, Math.min(MOST, to - from) + 1) }, (_, k) => from + k);
    }),
  )
  .refine((seeds) => seeds.length > 0 && seeds.length <= MOST, SEEDS);
