/**
 * What is stored outlives the release that wrote it, so a version stands in it. A release writes one version of each kind,
 * reads that one and, by its `upgrade`, the one before. Any other is refused with what it is and which release refuses.
 *
 * In: content that anybody may have stored. Out: the value, or why there is none. No errors. The table's items, the documents
 * of the bucket and of this machine are read with it; a schema alone never tells another release from damage.
 *
 * A field that is added raises nothing, if its absence means what its absence meant. A changed meaning does.
 */
import type * as z from 'zod';
import { type Problem, problemsText, UnreadableRecordError } from './errors.ts';
import { isTable } from './tables.ts';
import { check } from './validation.ts';

/** The version of package.json. */
export const RELEASE = '0.2.0';

type Fields = Readonly<Record<string, unknown>>;

export interface StoredKind<Schema extends z.ZodType = z.ZodType> {
  /** The one that this release writes. */
  readonly version: number;
  readonly schema: Schema;
  /** Makes it of the version before, of which no field has been checked. Absent: that version is not read. */
  readonly upgrade?: (before: Fields) => Fields;
}

export type Reading<T> =
  | { readonly kind: 'read'; readonly value: T }
  /** The meaning of a later version is unknown, and how to read one long ago is forgotten. */
  | { readonly kind: 'newer'; readonly version: number }
  | { readonly kind: 'older'; readonly version: unknown }
  | { readonly kind: 'unreadable'; readonly problems: readonly Problem[] };

/** @param schema names its version as a literal */
export const kindOf = <
  Schema extends z.ZodType & { readonly shape: { readonly version: { readonly value: number } } },
>(
  schema: Schema,
  upgrade?: StoredKind['upgrade'],
): StoredKind<Schema> => ({ version: schema.shape.version.value, schema, ...(upgrade && { upgrade }) });

export function readVersioned<Schema extends z.ZodType>(
  kind: StoredKind<Schema>,
  content: unknown,
): Reading<z.output<Schema>> {
  const fields = raised(kind, content);
  const version = fields?.['version'];
  if (fields !== undefined && version !== kind.version)
    return typeof version === 'number' && version > kind.version
      ? { kind: 'newer', version }
      : { kind: 'older', version };
  const read = check(kind.schema, fields ?? content, 'hidden');
  return read.ok ? { kind: 'read', value: read.value } : { kind: 'unreadable', problems: read.problems };
}

/** Raises content to the version that this release writes, if it can. @returns undefined for what has no fields */
export function raised(
  { version, upgrade }: Omit<StoredKind, 'schema'>,
  content: unknown,
): Fields | undefined {
  if (!isTable(content)) return undefined;
  return upgrade !== undefined && content['version'] === version - 1
    ? { ...upgrade(content), version }
    : content;
}

export function valueOf<T>(reading: Reading<T>): T | undefined {
  return reading.kind === 'read' ? reading.value : undefined;
}

/** @param what names the document, as the subject of the sentence */
export function whyUnread(
  what: string,
  { version, upgrade }: Omit<StoredKind, 'schema'>,
  reading: Exclude<Reading<unknown>, { kind: 'read' }>,
): string {
  if (reading.kind === 'unreadable')
    return `${what} is of another release, or damaged (${problemsText(reading.problems)})`;
  const found = reading.version === undefined ? 'no version' : `version ${JSON.stringify(reading.version)}`;
  const read = upgrade === undefined ? `version ${version}` : `versions ${version - 1} and ${version}`;
  const newer = reading.kind === 'newer' ? ', which is newer' : '';
  return `${what} has ${found}, and release ${RELEASE} reads ${read}: use the release that wrote it${newer}`;
}

/** @throws UnreadableRecordError */
export function storedOrThrow<Schema extends z.ZodType>(
  what: string,
  kind: StoredKind<Schema>,
  content: unknown,
): z.output<Schema> {
  const reading = readVersioned(kind, content);
  if (reading.kind === 'read') return reading.value;
  throw new UnreadableRecordError(whyUnread(what, kind, reading));
}
