/** Calls of the API: through the page's own server, which signs them, or with the token of a person who has signed in. */
import type { ComponentType } from 'preact';
import { type CallOptions, createClient, type OperationId, type SendCall } from '../../client/client.ts';
import type { AnswerOf } from '../../client/operations.ts';

export type { AnswerOf, OperationId };
export type ParametersOf<Id extends OperationId> = Parameters<typeof client.call<Id>>[1];

export type ShownAnswer<T> =
  | { readonly kind: 'ok'; readonly body: T; readonly etag?: string | undefined }
  /** Nothing has changed since the answer with the given ETag. */
  | { readonly kind: 'unchanged' }
  | Refused;

/** `waitSeconds`: until the same call may be answered otherwise; absent: it will be refused again. */
export type Refused = Readonly<{ kind: 'refused'; message: string; waitSeconds?: number | undefined }>;

/** How the page reaches the API, and what its reader can do where that fails. */
export interface Access {
  readonly send: SendCall;
  /** Where nothing answers. */
  readonly lost: string;
  /** @returns a sentence for a refusal that this access knows a remedy for */
  readonly remedy: (status: number, message: string) => string | undefined;
  /** Who it is, for the head. */
  readonly Account?: ComponentType;
}

const USUAL_WAIT_SECONDS = 5;

export let access: Access = {
  send: ({ method, path, headers, body }) =>
    fetch(`/api${path}`, { method, headers, ...(body !== undefined && { body }) }),
  lost: 'The page has lost its server: start npm start or npx --no-install tidewheel page again, and open what it prints.',
  remedy: (status, message) =>
    status === 403
      ? `The API refuses your credentials (403: ${message}). They need execute-api:Invoke: renew them, then start the command again.`
      : undefined,
};

/** Before the page is drawn. */
export function useAccess(other: Access): void {
  access = other;
}

export const client = createClient((call) => access.send(call));

/** Calls an operation. @returns what the client answers, with a refusal's remedy in words */
export async function ask<Id extends OperationId>(
  operation: Id,
  parameters: ParametersOf<Id>,
  options?: CallOptions,
): Promise<ShownAnswer<AnswerOf<Id>>> {
  const answer = await client.call(operation, parameters, options);
  if (answer.kind === 'ok' || answer.kind === 'unchanged') return answer;
  if (answer.kind === 'unreachable')
    return { kind: 'refused', message: access.lost, waitSeconds: USUAL_WAIT_SECONDS };
  const { status, message, problems, retryAfterSeconds = USUAL_WAIT_SECONDS } = answer;
  const untold = problems.filter((each) => !message.includes(each.message));
  const whole = [message, ...untold.map((each) => `${each.path} ${each.message}`.trim())].join('; ');
  const throttled = `The API is throttled (429: ${whole}). The page tries again by itself.`;
  const known = status === 429 ? throttled : access.remedy(status, whole);
  const shown = known ?? `The API answered ${status}: ${whole}`;
  const isForNow = status === 429 || status >= 500;
  return { kind: 'refused', message: shown, waitSeconds: isForNow ? retryAfterSeconds : undefined };
}
