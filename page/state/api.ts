/** Calls of the API through the page's own server, which signs them. */
import { type Answer as ClientAnswer, createClient, type OperationId } from '../../client/client.ts';
import type { Operations } from '../../client/operations.ts';

export type { OperationId };
export type AnswerOf<Id extends OperationId> = Operations[Id]['answer'];
export type ParametersOf<Id extends OperationId> = Parameters<typeof client.call<Id>>[1];

export type Answer<T> =
  | { readonly kind: 'ok'; readonly body: T; readonly etag?: string | undefined }
  /** Nothing has changed since the answer with the given ETag. */
  | { readonly kind: 'unchanged' }
  | { readonly kind: 'refused'; readonly message: string; readonly waitSeconds: number };

const USUAL_WAIT_SECONDS = 5;

export const client = createClient(({ method, path, headers, body }) =>
  fetch(`/api${path}`, { method, headers, ...(body !== undefined && { body }) }),
);

/** @returns what the client answers, with a refusal's remedy in words */
export function answered<T>(answer: ClientAnswer<T>): Answer<T> {
  if (answer.kind === 'ok' || answer.kind === 'unchanged') return answer;
  if (answer.kind === 'unreachable')
    return {
      kind: 'refused',
      message:
        'The page has lost its server: start npm start or npx tidewheel page again, and open what it prints.',
      waitSeconds: USUAL_WAIT_SECONDS,
    };
  const { status, message, problems, retryAfterSeconds = USUAL_WAIT_SECONDS } = answer;
  const untold = problems.filter((each) => !message.includes(each.message));
  const whole = [message, ...untold.map((each) => `${each.path} ${each.message}`.trim())].join('; ');
  return { kind: 'refused', message: remedy(status, whole), waitSeconds: retryAfterSeconds };
}

function remedy(status: number, message: string): string {
  if (status === 403)
    return `The API refuses your credentials (403: ${message}). They need execute-api:Invoke: renew them, then start the command again.`;
  if (status === 429) return `The API is throttled (429: ${message}). The page tries again by itself.`;
  return `The API answered ${status}: ${message}`;
}
