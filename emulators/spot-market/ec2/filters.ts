/** EC2's filters: any of the values, all of the filters; `*` and `?` are wildcards, a backslash takes them literally. */
import { Ec2Error } from './ec2-error.ts';
import type { Filter } from './query.ts';

export type Fields<Item> = Readonly<Record<string, (item: Item) => string | readonly string[] | undefined>>;

export function applyFilters<Item>(
  items: readonly Item[],
  filters: readonly Filter[],
  fields: Fields<Item>,
): readonly Item[] {
  const tests = filters.map(({ name, values }) => {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (!field) throw new Ec2Error('InvalidParameterValue', `The filter '${name}' is invalid`);
    const patterns = values.map(wildcard);
    return (item: Item): boolean =>
      [field(item) ?? []].flat().some((value) => patterns.some((pattern) => pattern.test(value)));
  });
  return items.filter((item) => tests.every((test) => test(item)));
}

function wildcard(text: string): RegExp {
  const source = text.replace(/\\([\s\S])|[\s\S]/g, (character, literal: string | undefined) => {
    if (literal !== undefined) return escapeRegExp(literal);
    if (character === '*') return '[\\s\\S]*';
    return character === '?' ? '[\\s\\S]' : escapeRegExp(character);
  });
  return new RegExp(`^${source}$`);
}

const escapeRegExp = (text: string): string => text.replace(/[.*+?^${}()|[\]\\/-]/g, '\\$&');
