/** Pages of lists. A token holds the list's name and the page's last item. */
import * as z from 'zod';
import { list } from '../../shared/fields.ts';
import { wholeNumber } from './operation.ts';

const LARGEST_PAGE = 200;

export const REMEDY = 'use the nextToken of the page before, or none for the first page';

export const tokenOf = (list: string, last: string): string =>
  Buffer.from(JSON.stringify([list, last])).toString('base64url');

const token = z.tuple([z.string(), z.string().min(1)]);

/** A text that no page gave out is refused with the rest of the query. */
const pageToken = z.string().transform((text, context) => {
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
