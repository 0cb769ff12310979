/** The documents of `--json` as docs/cli.md writes them, such as `{ runId, cells: [{ name, why? }] }`. */
import { readFileSync } from 'node:fs';
import path from 'node:path';

interface Shape {
  /** By name; undefined where the docs say no more of a field. */
  readonly fields: ReadonlyMap<string, Shape | undefined>;
  readonly optional: ReadonlySet<string>;
  /** The docs leave fields out: `…`. */
  readonly isOpen: boolean;
}

/** @returns every shape that the row of a verb has, in order; of `data list`, the row that names it */
export function documentedShapes(verb: string): readonly Shape[] {
  const file = path.join(import.meta.dirname, '../../docs/cli.md');
  const names = (cell: string) => {
    const words = [...cell.matchAll(/`([\w -]+)`/g)].map(([, word = '']) => word);
    const [group = ''] = (words[0] ?? '').split(' ');
    return words.flatMap((word) => [word, `${group} ${word}`]);
  };
  const rows = readFileSync(file, 'utf8').matchAll(/^\| (`[^|]+`) \| (.+) \|$/gm);
  const cells = [...rows].filter(([, first = '']) => names(first).includes(verb));
  return cells.flatMap(([, , second = '']) =>
    [...second.replaceAll('\\|', '|').matchAll(/`(\{[^`]*\})`/g)].map(([, text = '']) => shapeOf(text)),
  );
}

/** How a verb's document, or each of a list, differs from the one shape that its row has. */
export function undocumented(verb: string, printed: unknown): string[] {
  const [shape, ...others] = documentedShapes(verb);
  if (shape === undefined || others.length > 0) return [`docs/cli.md has no single document of ${verb}`];
  return [printed].flat().flatMap((each) => differences(each, shape));
}

/** What a printed document lacks of a shape or has beyond it, by path. */
export function differences(printed: unknown, { fields, optional, isOpen }: Shape, at = ''): string[] {
  if (typeof printed !== 'object' || printed === null) return [`${at} is no object`];
  const has = new Map(Object.entries(printed));
  const missing = [...fields.keys()].filter((name) => !has.has(name) && !optional.has(name));
  const beyond = isOpen ? [] : [...has.keys()].filter((name) => !fields.has(name));
  return [
    ...missing.map((name) => `${at}.${name} is documented and not printed`),
    ...beyond.map((name) => `${at}.${name} is printed and not documented`),
    ...[...fields].flatMap(([name, shape]) => {
      const value: unknown = has.get(name);
      const items: readonly unknown[] = Array.isArray(value) ? value : value === undefined ? [] : [value];
      return shape === undefined ? [] : items.flatMap((item) => differences(item, shape, `${at}.${name}`));
    }),
  ];
}

function shapeOf(text: string): Shape {
  const tokens = text.match(/'[^']*'|[\w-]+|[{}[\]?:,|…]/g) ?? [];
  let next = 0;
  const object = (): Shape => {
    const fields = new Map<string, Shape | undefined>();
    const optional = new Set<string>();
    let isOpen = false;
    for (next += 1; next < tokens.length && tokens[next] !== '}'; next += 1) {
      const name = tokens[next] ?? '';
      if (name === ',') continue;
      if (name === '…') {
        isOpen = true;
        continue;
      }
      if (tokens[next + 1] === '?') {
        optional.add(name);
        next += 1;
      }
      fields.set(name, tokens[next + 1] === ':' ? value() : undefined);
    }
    return { fields, optional, isOpen };
  };
  /** Behind a colon: an object, a list of them, or words. Ends at its last token. */
  const value = (): Shape | undefined => {
    next += 2;
    if (tokens[next] === '{') return object();
    if (tokens[next] === '[' && tokens[next + 1] === '{') {
      next += 1;
      const item = object();
      next += 1;
      return item;
    }
    while (tokens[next + 1] === '|') next += 2;
    return undefined;
  };
  return object();
}
