/** Fields that many records share. */
import * as z from 'zod';

/** ISO 8601 in UTC. */
export const time = z.string().meta({ format: 'date-time' });
export const usd = z.number().describe('US dollars.');
export const seconds = z.number().describe('Seconds.');

/** Written in digits. The message says all of it, whichever rule was broken. */
export function wholeNumber(
  least: number,
  most = Number.MAX_SAFE_INTEGER,
  message = most === Number.MAX_SAFE_INTEGER
    ? `write a whole number, ${least} or more`
    : `write a whole number from ${least} to ${most}`,
) {
  return z.coerce.number(message).int(message).min(least, message).max(most, message);
}

export const list = <T extends z.ZodType>(item: T) => z.array(item).readonly();

export const problemSchema = z.object({
  path: z.string().describe('The field, such as limits.budgetUsd; empty for the whole.'),
  message: z.string().describe('What was given, and what to give instead.'),
});
