/** Classes whose names a person would read as the same: `Cat` and `cat `, or one in two Unicode forms. */
import type { ClassRow } from './report-document.ts';

/** Without case, blanks around, invisible characters and leading zeros; `-`, `_` and blanks are the same. */
const readAs = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .toLowerCase()
    .replace(/[\s_-]+/gu, ' ')
    .trim()
    .replace(/^0+(?=\d+$)/, '');

/** Groups of two or more classes that the version holds. */
export function alikeClasses(rows: readonly ClassRow[]): string[][] {
  const groups = new Map<string, string[]>();
  for (const { name, now } of rows) {
    if (now === 0) continue;
    const text = readAs(name);
    const group = groups.get(text);
    if (group === undefined) groups.set(text, [name]);
    else group.push(name);
  }
  return [...groups.values()].filter(({ length }) => length > 1);
}
