/** The steps that a script prints: the first and the last of the word that it prints most. Pure. */

import { boundedSearch } from '../../functions/core/shared/bounded-search.ts';

/** The agent looks at no more of a line. */
const LONGEST_LINE = 2_000;

export interface PrintedSteps {
  /** Such as `step`, `iter` or `epoch`. */
  readonly word: string;
  readonly first: number;
  readonly last: number;
}

const PRINTED =
  /(?<![a-z])(global_step|step|iteration|iter|it|epoch)s?["']?\s*[:=#]?\s*[[(]?\s*(\d{1,12})(?![\d.]*%)/i;

/** @param pattern the declared one, with a group named step */
export function stepReader(pattern?: string): { read(line: string): void; seen(): PrintedSteps | undefined } {
  const declared = pattern === undefined ? undefined : new RegExp(pattern.replaceAll('(?P<', '(?<'));
  const words = new Map<string, { first: number; last: number; count: number }>();
  const note = (word: string, step: number): void => {
    const known = words.get(word);
    words.set(word, { first: known?.first ?? step, last: step, count: (known?.count ?? 0) + 1 });
  };
  return {
    read: (line) => {
      const own =
        declared &&
        boundedSearch('training.progress.pattern', declared, line.slice(0, LONGEST_LINE))?.groups?.['step'];
      if (own !== undefined) return note('step', Number(own));
      const [, word, step] = declared === undefined ? (PRINTED.exec(line) ?? []) : [];
      if (word !== undefined && step !== undefined) note(word.toLowerCase(), Number(step));
    },
    seen: () => {
      const [most] = [...words].toSorted(([, a], [, b]) => b.count - a.count);
      if (most === undefined) return undefined;
      const [word, { first, last }] = most;
      return { word, first, last };
    },
  };
}
