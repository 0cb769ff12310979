/** The page that shows the last measured table. */
import { readFileSync, writeFileSync } from 'node:fs';

const MARKS = ['<!-- table: begin -->', '<!-- table: end -->'] as const;

/** What stands between the marks becomes the table; throws where a mark is missing. */
export function withTable(page: string, table: string): string {
  const [begin, end] = [page.indexOf(MARKS[0]), page.indexOf(MARKS[1])];
  if (begin < 0 || end < begin) throw new Error(`the page has lost its marks ${MARKS.join(' and ')}`);
  return `${page.slice(0, begin + MARKS[0].length)}\n${table}\n${page.slice(end)}`;
}

export function writeTable(file: string, table: string): void {
  writeFileSync(file, withTable(readFileSync(file, 'utf8'), table));
}
