/** Records as they lie in the service's table. */

import { UnreadableRecordError } from '@tidewheel/kit/errors.ts';
import { type Reading, readVersioned, type StoredKind, whyUnread } from '@tidewheel/kit/stored.ts';
import type * as z from 'zod';
import type { Tell } from './stores.ts';

/** A record, and what the table adds to it: `pk`, `sk`, `version`, and what its indexes and its expiry need. */
export type Item = Record<string, unknown>;

/**
 * Format of the records. A release that changes the meaning of a field raises the version, with an `upgrade` of the items
 * before: their `pk` and `sk` say what they are. Such an item is raised before it is changed.
 */
export const RECORDS: Omit<StoredKind, 'schema'> = { version: 1 };

/**
 * Reads an item, perhaps of an earlier release, without the table's own attributes.
 * @throws UnreadableRecordError
 */
export function recordOf<Schema extends z.ZodType>(
  schema: Schema,
  item: Item,
  format = RECORDS,
): z.output<Schema> {
  const kind = { ...format, schema };
  const reading = readVersioned(kind, item);
  if (reading.kind === 'read') return reading.value;
  const why = whyUnread(
    `the record ${String(item['pk'])} ${String(item['sk'])}`,
    kind,
    withoutAdvice(reading),
  );
  throw new UnreadableRecordError(
    reading.kind === 'unreadable'
      ? `${why}: use the release that wrote it, or restore the table from a backup`
      : why,
  );
}

type Unread = Exclude<Reading<unknown>, { kind: 'read' }>;

const withoutAdvice = (reading: Unread): Unread =>
  reading.kind === 'unreadable'
    ? {
        ...reading,
        problems: reading.problems.map(({ path, message }) => ({
          path,
          message: message.replace(ADVICE, '') || UNKNOWN,
        })),
      }
    : reading;

/** For a person who writes a declaration. */
const ADVICE = /(: take|, give|^give) .*/s;
const UNKNOWN = 'has a value that this release does not know';

/** One record, or none where it cannot be read. */
export function readable<Schema extends z.ZodType>(
  schema: Schema,
  item: Item,
  tell?: Tell,
  format = RECORDS,
): z.output<Schema>[] {
  try {
    return [recordOf(schema, item, format)];
  } catch (error: unknown) {
    if (!(error instanceof UnreadableRecordError)) throw error;
    tell?.({ id: String(item['pk']).replace(/^[A-Z]+#/, ''), why: error.message });
    return [];
  }
}
