/** Records as they lie in the service's table. */

import { otherVersion, UnreadableRecordError } from '@tidewheel/kit/errors.ts';
import { check } from '@tidewheel/kit/validation.ts';
import type * as z from 'zod';
import type { Tell } from './stores.ts';

/** A record, and what the table adds to it: `pk`, `sk`, `version`, and what its indexes and its expiry need. */
export type Item = Record<string, unknown>;

/** Format of the records. A release that changes the meaning of a field increases it. */
export const RECORD_VERSION = 1;

/**
 * Reads an item, perhaps of an earlier release, without the table's own attributes.
 * @throws UnreadableRecordError
 */
export function recordOf<Schema extends z.ZodType>(schema: Schema, item: Item): z.output<Schema> {
  const { pk, sk, version } = item;
  const record = `the record ${String(pk)} ${String(sk)}`;
  if (version !== RECORD_VERSION) throw otherVersion(record, { found: version, read: RECORD_VERSION });
  const read = check(schema, item, 'hidden');
  if (read.ok) return read.value;
  const wrong = read.problems.map(
    ({ path, message }) => `${path}: ${message.replace(ADVICE, '') || UNKNOWN}`,
  );
  throw new UnreadableRecordError(
    `${record} is of another release, or damaged (${wrong.join('; ')}): use the release that wrote it, or restore the table from a backup`,
  );
}

/** For a person who writes a declaration. */
const ADVICE = /(: take|, give|^give) .*/s;
const UNKNOWN = 'has a value that this release does not know';

/** One record, or none where it cannot be read. */
export function readable<Schema extends z.ZodType>(
  schema: Schema,
  item: Item,
  tell?: Tell,
): z.output<Schema>[] {
  try {
    return [recordOf(schema, item)];
  } catch (error: unknown) {
    if (!(error instanceof UnreadableRecordError)) throw error;
    tell?.({ id: String(item['pk']).replace(/^[A-Z]+#/, ''), why: error.message });
    return [];
  }
}
