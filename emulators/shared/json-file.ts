/** JSON that a person wrote: read and checked, with everything that is wrong in it as sentences. */
import { readFileSync } from 'node:fs';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { check, firstOf } from '@tidewheel/kit/validation.ts';
import type * as z from 'zod';

export type CheckedJson<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly string[]; readonly cause?: unknown };

export function readJsonFile(file: string): CheckedJson<unknown> {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause: unknown) {
    return { ok: false, problems: [`it cannot be read (${messageOf(cause)}): name a JSON file`], cause };
  }
  try {
    return { ok: true, value: JSON.parse(text) };
  } catch (cause: unknown) {
    return { ok: false, problems: [`it is no JSON (${messageOf(cause)})`], cause };
  }
}

export function checkFields<Schema extends z.ZodType>(
  schema: Schema,
  content: unknown,
): CheckedJson<z.output<Schema>> {
  const checked = check(schema, content, 'shown');
  if (checked.ok) return checked;
  const problems = checked.problems.map(({ path, message }) => `${path === '' ? 'it' : path} ${message}`);
  return { ok: false, problems: firstOf(problems) };
}
