/** Pages of the API's lists. The token of a page names the list and the page's last item, so that it outlives changes of the list. */
import * as z from 'zod';

export interface Page {
  readonly limit: number;
  /** Last item of the page before. */
  readonly after?: string | undefined;
}

const LARGEST_PAGE = 200;

/**
 * @param list name of the list; another list's token is refused
 * @returns the requested page, or what is wrong with the request and what to do
 */
export function requestedPage(
  list: string,
  { limit, nextToken }: Readonly<Record<string, string>>,
  usual: number,
): Page | { readonly problem: string } {
  const size = z.coerce.number().int().min(1).max(LARGEST_PAGE).default(usual).safeParse(limit);
  const after = nextToken === undefined ? undefined : lastItemOf(list, nextToken);
  const problems = [
    ...(size.success ? [] : [`limit is "${limit}": use a whole number from 1 to ${LARGEST_PAGE}`]),
    ...(after !== undefined || nextToken === undefined
      ? []
      : [
          `nextToken is "${nextToken}", which no page of this list gave out: use the nextToken of the page before, or none for the first page`,
        ]),
  ];
  return size.success && problems.length === 0
    ? { limit: size.data, after }
    : { problem: problems.join('; ') };
}

/**
 * @param found up to one item more than the page holds, which tells that another page follows
 * @param nameOf the name of an item, by which the list is ordered
 */
export function pageOf<T>(
  list: string,
  { found, limit }: { readonly found: readonly T[]; readonly limit: number },
  nameOf: (item: T) => string,
): { readonly items: readonly T[]; readonly nextToken?: string } {
  const items = found.slice(0, limit);
  const last = items.at(-1);
  return found.length > limit && last !== undefined
    ? { items, nextToken: tokenOf(list, nameOf(last)) }
    : { items };
}

const tokenOf = (list: string, last: string): string =>
  Buffer.from(JSON.stringify([list, last])).toString('base64url');

function lastItemOf(list: string, token: string): string | undefined {
  try {
    const content: unknown = JSON.parse(Buffer.from(token, 'base64url').toString());
    return z.tuple([z.literal(list), z.string().min(1)]).parse(content)[1];
  } catch {
    return undefined;
  }
}
