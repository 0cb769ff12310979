/** JSON that a person wrote: read and checked, with everything that is wrong in it as sentences. */
import { readFileSync } from 'node:fs';
import * as z from 'zod';

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly string[]; readonly cause: unknown };

/** A file with thousands of wrong fields has the same one wrong. */
const MOST_PROBLEMS = 20;

export function readJson(file: string): Checked<unknown> {
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

/** The schema's messages end the sentence `field is value: `. */
export function checkFields<Schema extends z.ZodType>(
  schema: Schema,
  content: unknown,
): Checked<z.output<Schema>> {
  const parsed = schema.safeParse(content);
  if (parsed.success) return { ok: true, value: parsed.data };
  const problems = parsed.error.issues.map(({ path, message }) => {
    const value = valueAt(content, path);
    const given = value === undefined ? 'missing' : shown(value);
    return `${path.length === 0 ? 'it' : z.core.toDotPath(path)} is ${given}: ${message}`;
  });
  return { ok: false, problems: firstOf(problems), cause: parsed.error };
}

export const firstOf = (problems: readonly string[]): readonly string[] =>
  problems.length > MOST_PROBLEMS
    ? [...problems.slice(0, MOST_PROBLEMS), `and ${problems.length - MOST_PROBLEMS} more of this kind`]
    : problems;

function valueAt(content: unknown, path: readonly PropertyKey[]): unknown {
  let value = content;
  for (const part of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Readonly<Record<PropertyKey, unknown>>)[part];
  }
  return value;
}

const LONGEST_SHOWN = 60;

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : text;
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
