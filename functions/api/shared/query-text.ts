/** In a query everything is text. */
import * as z from 'zod';

export const numberText = (minimum: number, maximum: number) =>
  z
    .string()
    .refine(
      (text) => /^\d{1,9}$/.test(text) && Number(text) >= minimum && Number(text) <= maximum,
      `give a whole number from ${minimum} to ${maximum}`,
    )
    .transform(Number)
    .meta({ type: 'integer', minimum, maximum });

export const wholeNumber = (minimum: number, maximum: number, usual: number) =>
  numberText(minimum, maximum).meta({ type: 'integer', minimum, maximum, default: usual }).default(usual);

/** Longer ones would be keys that S3 and DynamoDB refuse. */
export const LONGEST_NAME = 256;
const MOST_NAMES = 50;

/** Such as `g5.xlarge,g6.xlarge`. */
export const namesText = z
  .string()
  .regex(
    new RegExp(`^[a-z0-9.-]{1,${LONGEST_NAME}}(,[a-z0-9.-]{1,${LONGEST_NAME}}){0,${MOST_NAMES - 1}}$`),
    `write up to ${MOST_NAMES} names with commas between them`,
  )
  .transform((text) => text.split(','));

export const moment = z.iso.datetime({ offset: true, error: 'give a time such as 2026-11-25T08:00:00Z' });
