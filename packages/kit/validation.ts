/** zod's issues as sentences: the field, what was given for it, and what to give instead. */
import * as z from 'zod';
import type { Problem } from './errors.ts';
import { nearest } from './nearest.mjs';

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/**
 * All that is wrong at once. The issues themselves hold what was given, so they are no `cause` to be logged.
 * @param values `shown` where a person wrote them and reads the answer; `hidden` where they may be secret or come from
 * anywhere, for problems are logged
 * @param context with `skipChecks`, only the fields and their types count, not the rules over values
 */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  content: unknown,
  values: 'shown' | 'hidden',
  context: Pick<z.core.ParseContextInternal, 'skipChecks' | 'jitless'> = {},
): Checked<z.output<Schema>> {
  const result = schema.safeParse(content, { ...context, error: remedyFor, reportInput: true });
  if (result.success) return { ok: true, value: result.data };
  const problems = result.error.issues.map((issue) => ({
    path: pathOf(issue.path),
    message: `${givenIn(issue, values)}${issue.message}`,
  }));
  return { ok: false, problems };
}

/**
 * For rules over several fields of an object: they speak beside what is wrong in single ones, where zod would be silent
 * until those are right. What such a rule reads may then be of any type.
 */
export const besideOthers = {
  when: ({ value }: { readonly value: unknown }): boolean => kindOf(value) === 'has fields of its own',
};

/** Thousands of problems in one file usually have one cause, so only the first are listed. */
const MOST_LISTED = 20;

export const firstOf = (problems: readonly string[]): readonly string[] =>
  problems.length > MOST_LISTED
    ? [...problems.slice(0, MOST_LISTED), `and ${problems.length - MOST_LISTED} more of this kind`]
    : problems;

const pathOf = (path: readonly PropertyKey[]): string =>
  path.reduce<string>(
    (sofar, part) =>
      typeof part === 'number' ? `${sofar}[${part}]` : sofar ? `${sofar}.${String(part)}` : String(part),
    '',
  );

/** Keys and passwords are written into these, against all advice. */
const MAY_BE_SECRET = new Set<PropertyKey>([
  'hyperparameters',
  'packageIndex',
  'arguments',
  'command',
  'environment',
]);
const LONGEST_SHOWN = 60;

function givenIn(issue: z.core.$ZodIssue, values: 'shown' | 'hidden'): string {
  const { code, path } = issue;
  const input = valueIn(issue);
  // A rule over several fields names them itself.
  if (code === 'custom' && typeof input === 'object') return '';
  if (code === 'unrecognized_keys' || code === 'invalid_key') return '';
  if (input === undefined) return 'is missing, ';
  const kind = code === 'too_big' || code === 'too_small' ? sizeIn(input) : kindOf(input);
  if (kind !== undefined) return `${kind}, `;
  return values === 'hidden' || path.some((part) => MAY_BE_SECRET.has(part)) ? '' : `is ${shown(input)}, `;
}

/** The path of an unknown discriminator ends in its name, but zod gives the object that holds it. */
function valueIn(issue: z.core.$ZodIssue): unknown {
  const { input, path } = issue;
  if (issue.code !== 'invalid_union' || issue.discriminator === undefined) return input;
  return typeof input === 'object' && input !== null ? Reflect.get(input, path.at(-1) ?? '') : input;
}

function sizeIn(input: unknown): string | undefined {
  if (Array.isArray(input)) return `has ${input.length} entries`;
  return typeof input === 'string' ? `is ${input.length} characters long` : undefined;
}

function kindOf(input: unknown): string | undefined {
  if (input === null) return 'is empty';
  if (Array.isArray(input)) return 'is a list';
  return typeof input === 'object' ? 'has fields of its own' : undefined;
}

function shown(value: unknown): string {
  const text = typeof value === 'string' ? JSON.stringify(value) : String(value);
  return text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}...` : text;
}

const KINDS: Readonly<Record<string, string>> = {
  string: 'a text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'its fields',
  record: 'its fields',
};

type Issue = z.core.$ZodRawIssue;
const OF_PARTS = [
  'unrecognized_keys',
  'invalid_key',
  'invalid_element',
  'invalid_union',
  'custom',
] as const satisfies readonly Issue['code'][];
type OfParts = Extract<Issue, { code: (typeof OF_PARTS)[number] }>;

const isOfParts = (issue: Issue): issue is OfParts => OF_PARTS.some((code) => code === issue.code);

/** What to give instead, for each rule of a schema that has no words of its own. */
const remedyFor: z.core.$ZodErrorMap = (issue) =>
  isOfParts(issue) ? remedyForParts(issue) : remedyForValue(issue);

function remedyForValue(issue: Exclude<Issue, OfParts>): string {
  switch (issue.code) {
    case 'invalid_type':
      return `give ${KINDS[issue.expected] ?? issue.expected}`;
    case 'too_small':
      return `give ${issue.inclusive === false ? 'more than' : 'at least'} ${issue.minimum}`;
    case 'too_big':
      return `give ${issue.inclusive === false ? 'less than' : 'at most'} ${issue.maximum}`;
    case 'invalid_value':
      return `give ${oneOf(issue.values)}`;
    case 'invalid_format':
      return `write it as ${issue.pattern ?? issue.format} has it`;
    case 'not_multiple_of':
      return `give a multiple of ${issue.divisor}`;
    default:
      return issue satisfies never;
  }
}

const oneOf = (values: readonly unknown[]): string =>
  `${values.length === 1 ? '' : 'one of '}${values.map(String).join(', ')}`;

function remedyForParts(issue: OfParts): string | undefined {
  switch (issue.code) {
    case 'unrecognized_keys':
      return unknownFields(
        issue.keys,
        issue.inst instanceof z.ZodObject ? Object.keys(issue.inst.shape) : [],
      );
    case 'invalid_key':
      return `is no name to give here: ${sentences(issue.issues)}`;
    case 'invalid_union':
      return (
        sentences(issue.errors.flat()) ||
        `give ${oneOf(Array.isArray(issue['options']) ? issue['options'] : ['another value'])}`
      );
    case 'invalid_element':
    case 'custom':
      return undefined;
    default:
      return issue satisfies never;
  }
}

function unknownFields(unknown: readonly string[], known: readonly string[]): string {
  const fields = unknown.map((key) => ({ named: JSON.stringify(key), meant: nearest(key, known) }));
  if (fields.every(({ meant }) => meant !== undefined))
    return `has no field ${list(fields.map(({ named }) => named))}: did you mean ${list(fields.map(({ meant }) => meant ?? ''))}?`;
  const named = fields.map((field) =>
    field.meant === undefined ? field.named : `${field.named} (did you mean ${field.meant}?)`,
  );
  const instead = known.length === 0 ? '' : `, or write one of ${list(known)}`;
  return `has no field ${list(named)}: take ${unknown.length === 1 ? 'it' : 'them'} out${instead}`;
}

const list = (names: readonly string[]): string => names.join(', ');

/** The ways in which a value could have been right. */
function sentences(issues: readonly z.core.$ZodIssue[]): string {
  const each = issues.map(({ path, message }) =>
    path.length === 0 ? message : `${pathOf(path)}: ${message}`,
  );
  return [...new Set(each)].join(', or ');
}
