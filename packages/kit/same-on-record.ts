import { isDeepStrictEqual } from 'node:util';

/** Whether a table would give two values back as the same: it keeps neither the order of fields nor what is undefined. */
export const isSameOnRecord = (one: unknown, other: unknown): boolean =>
  isDeepStrictEqual(asRecorded(one), asRecorded(other));

const asRecorded = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null));
