/**
 * Tables whose keys users choose. zod's records leave out a key called `__proto__` without a word, so that it replaces
 * no prototype; here it is a name like any other, kept as a key of the table's own or reported as a forbidden name.
 */
import * as z from 'zod';

export const isTable = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A value by its path; undefined where a name is missing. */
export const valueAt = (table: unknown, path: readonly string[]): unknown =>
  path.reduce<unknown>(
    (part, field) => (isTable(part) && Object.hasOwn(part, field) ? part[field] : undefined),
    table,
  );

/** Any name is kept. */
export const tableOf = <Value extends z.ZodType>(value: Value) =>
  z
    .custom<Readonly<Record<string, z.input<Value>>>>(isTable, 'give its fields')
    .transform((table) => new Map(Object.entries(table)))
    .pipe(z.map(z.string(), value))
    // It makes own keys of all names, as an assignment would not.
    .transform((map): Record<string, z.output<Value>> => Object.fromEntries(map));

/** The same record schema, which also reports a key `__proto__` as a problem. */
export const refusingProto = <Table extends z.ZodType>(record: Table) =>
  z.preprocess((value, context) => {
    if (isTable(value) && Object.hasOwn(value, '__proto__'))
      context.issues.push({
        code: 'custom',
        path: ['__proto__'],
        input: value,
        message: 'is no name to give here: choose another',
      });
    return value;
  }, record);
