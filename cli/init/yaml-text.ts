/** Values and comments of the YAML that `init` writes: plain words stay as a person would write them. */
import { isTable } from '@tidewheel/kit/tables.ts';

/** Quoted where it might be read as something else. */
export const word = (text: string): string =>
  /^[A-Za-z_./][\w./-]*$/.test(text) && !/^(true|false|null|yes|no|on|off|y|n)$/i.test(text)
    ? text
    : /[\p{C}\u2028\u2029]/u.test(text)
      ? JSON.stringify(text)
      : `'${text.replaceAll("'", "''")}'`;

/** On one line; `{ $number: '1.0' }` is a number in this form. */
export function inline(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(inline).join(', ')}]`;
  if (!isTable(value)) return typeof value === 'string' ? word(value) : String(value);
  const number = value['$number'];
  if (typeof number === 'string' && /^-?[\d.eE+-]+$/.test(number)) return number;
  const fields = Object.entries(value).map(([name, each]) => `${word(name)}: ${inline(each)}`);
  return fields.length === 0 ? '{}' : `{ ${fields.join(', ')} }`;
}

/** A comment has no line ends. */
export const oneLine = (text: string): string => text.replaceAll(/[\p{C}\u2028\u2029\s]+/gu, ' ');
