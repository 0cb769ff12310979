/** The page that shows the last measured tables. */
import { readFileSync, writeFileSync } from 'node:fs';

/** What stands between the marks of that name becomes the table; throws where a mark is missing. */
function withTable(page: string, table: string, name = 'table'): string {
  const marks = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`] as const;
  const [begin, end] = [page.indexOf(marks[0]), page.indexOf(marks[1])];
  if (begin < 0 || end < begin) throw new Error(`the page has lost its marks ${marks.join(' and ')}`);
  return `${page.slice(0, begin + marks[0].length)}\n${table}\n${page.slice(end)}`;
}

export function writeTable(file: string, table: string, name?: string): void {
  writeFileSync(file, withTable(readFileSync(file, 'utf8'), table, name));
}
