/**
 * How a document that agent and service write for each other is versioned and read.
 *
 * In: a text that a host wrote; a script owns its host, so it may be any. Out: the value, or why there is none. No errors.
 * The service, `tidewheel try` and the benches read with it; tidewheel_contract/reading.py is the same in Python.
 *
 * A version stands in each document. A document without one is of version 0, as release 0.1.0 wrote it, and is read as
 * version 1. A field that is added raises nothing: so a reader passes over fields that it does not know, and a writer that
 * changes a document in place keeps them. None are refused, because an older reader would refuse what a newer release
 * added, in the middle of a run. A changed meaning raises the version, and a reader says of a newer one that it is newer.
 */
import { parseJson } from '@tidewheel/kit/json.ts';
import { type Reading, readVersioned, type StoredKind } from '@tidewheel/kit/stored.ts';
import * as z from 'zod';
import type { DocumentName } from './files.ts';

export { type Reading, valueOf } from '@tidewheel/kit/stored.ts';

export interface HostDocument<Schema extends z.ZodType = z.ZodType> extends StoredKind<Schema> {
  readonly name: DocumentName;
}

export function readDocument<Schema extends z.ZodType>(
  document: HostDocument<Schema>,
  text: string,
): Reading<z.output<Schema>> {
  return readContent(document, parseJson(text));
}

/** A version that is no whole number is another writer's field, and those before `version` are read as it. */
export function readContent<Schema extends z.ZodType>(
  document: HostDocument<Schema>,
  content: unknown,
): Reading<z.output<Schema>> {
  if (typeof content !== 'object' || content === null) return readVersioned(document, content);
  const given: unknown = Reflect.get(content, 'version');
  const version = Math.max(Number.isSafeInteger(given) ? Number(given) : 0, document.version);
  return readVersioned(document, { ...content, version });
}

/** Lines that cannot be read, such as one that a kill has cut short, are passed over. */
export const readDocumentLines = <Schema extends z.ZodType>(
  document: HostDocument<Schema>,
  text: string,
): readonly z.output<Schema>[] =>
  text.split('\n').flatMap((line) => {
    const reading = readDocument(document, line);
    return reading.kind === 'read' ? [reading.value] : [];
  });

/** Products of such numbers stay below what DynamoDB holds, 1e125. */
const LARGEST = 1e18;
export const amount = z
  .number('write a number')
  .min(0, 'write 0 or more')
  .max(LARGEST, `write at most ${LARGEST}`);
export const share = amount.max(1, 'write a share from 0 to 1');
export const count = z.number('write a number').int('write a whole number').min(0, 'write 0 or more');

/** A field without which the document still counts: one that cannot be read is as one that is not there. */
export const whereKnown = <Schema extends z.ZodType>(schema: Schema) => schema.optional().catch(undefined);

/** Older releases wrote null where a value is absent. */
export const absent = <Schema extends z.ZodType>(schema: Schema) =>
  schema.nullish().transform((value) => value ?? undefined);
