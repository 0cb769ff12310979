/** Pages of the API's lists. The token of a page names the list and the page's last item, so that it outlives changes of the list. */

import { UnreadableRecordError } from '@tidewheel/kit/errors.ts';
import { list } from '@tidewheel/kit/fields.ts';
import * as z from 'zod';
import type { Tell } from '../../records/stores.ts';
import { problem } from './answers.ts';
import { wholeNumber } from './query-text.ts';

const LARGEST_PAGE = 200;

const REMEDY = 'use the nextToken of the page before, or none for the first page';

const tokenOf = (list: string, last: string): string =>
  Buffer.from(JSON.stringify([list, last])).toString('base64url');

const token = z.tuple([z.string(), z.string().min(1)]);

/** A text that no page gave out is refused with the rest of the query. */
const pageToken = z
  .string()
  .max(1_000)
  .transform((text, context) => {
    try {
      const content: unknown = JSON.parse(Buffer.from(text, 'base64url').toString());
      return token.parse(content);
    } catch {
      const message = `which no page of this list gave out: ${REMEDY}`;
      context.addIssue({ code: 'custom', message, input: text });
      return z.NEVER;
    }
  });

/** @param usual items of a page, where the caller does not say */
export const pageQuery = (usual: number) =>
  z.strictObject({
    limit: wholeNumber(1, LARGEST_PAGE, usual).describe('Items of a page.'),
    nextToken: pageToken.optional().describe('Of the page before; absent for the first page.'),
  });

export const unreadable = list(z.string())
  .optional()
  .describe('Why records were left out: each sentence names one that this release cannot read.');

export const nextToken = z
  .string()
  .optional()
  .describe('There is another page: make the same call with this token.');

interface Listed<Item, Shown> {
  /** Reads up to `limit` items after the one of that name. */
  readonly read: (wanted: {
    readonly limit: number;
    readonly after: string | undefined;
    readonly tell: Tell;
  }) => Promise<readonly Item[]>;
  /** The name down to which a search looked that was not done; a page of it may be short. */
  readonly searchedTo?: () => string | undefined;
  /** The name of an item, by which the list is ordered. */
  readonly nameOf: (item: Item) => string;
  /** @returns undefined for an item that cannot be read */
  readonly show: (item: Item, tell: Tell) => Shown | undefined | Promise<Shown | undefined>;
}

/** @param list name of the list; another list's token is refused */
export async function readPage<Item, Shown>(
  list: string,
  { limit, nextToken }: z.output<ReturnType<typeof pageQuery>>,
  { read, searchedTo, nameOf, show }: Listed<Item, Shown>,
) {
  const [of, after] = nextToken ?? [list];
  if (of !== list) return problem(400, `nextToken is of ${of}, not of ${list}: ${REMEDY}`);
  const { tell, said } = steppedOver();
  // One more than the page has tells that another page follows.
  const found = await read({ limit: limit + 1, after, tell });
  const named = found.slice(0, limit);
  const last = named.at(-1);
  const next = found.length > limit && last !== undefined ? nameOf(last) : searchedTo?.();
  const shown = await Promise.all(named.map(async (item) => show(item, tell)));
  return {
    items: shown.filter((item) => item !== undefined),
    ...said(),
    ...(next !== undefined && { nextToken: tokenOf(list, next) }),
  };
}

/** @returns what a list takes, and what its answer says of the records that it has stepped over */
export function steppedOver(): {
  readonly tell: Tell;
  readonly said: () => { readonly unreadable?: string[] };
} {
  const unreadable: string[] = [];
  return {
    tell: ({ why }) => {
      unreadable.push(why);
    },
    said: () => (unreadable.length === 0 ? {} : { unreadable }),
  };
}

/** For `catch` at what a list reads of one of its items. */
export const leftOut =
  (id: string, tell: Tell) =>
  (error: unknown): undefined => {
    if (!(error instanceof UnreadableRecordError)) throw error;
    tell({ id, why: error.message });
  };
