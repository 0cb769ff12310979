/** Pages a list: the token holds where to go on and what must not change on the way, such as the moment of the question. */
import { Ec2Error } from './ec2-error.ts';

export interface ItemPage<Item> {
  readonly items: readonly Item[];
  readonly nextToken: string | undefined;
}

export interface PagePosition {
  readonly offset: number;
  /** Milliseconds since 1970 of the request for the first page. */
  readonly requestedMs: number;
}

export function positionAfter(token: string | undefined, nowMs: number): PagePosition {
  if (!token) return { offset: 0, requestedMs: nowMs };
  const [offset, requestedMs] = Buffer.from(token, 'base64url').toString().split('.').map(Number);
  if (!Number.isSafeInteger(offset) || !Number.isSafeInteger(requestedMs)) {
    throw new Ec2Error('InvalidNextToken', 'The NextToken is not one of this server.');
  }
  return { offset: offset ?? 0, requestedMs: requestedMs ?? nowMs };
}

export function pageAt<Item>(items: readonly Item[], position: PagePosition, size: number): ItemPage<Item> {
  const end = position.offset + size;
  const isLast = end >= items.length;
  return {
    items: items.slice(position.offset, end),
    nextToken: isLast ? undefined : Buffer.from(`${end}.${position.requestedMs}`).toString('base64url'),
  };
}
