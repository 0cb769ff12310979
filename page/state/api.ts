/** Calls of the API through the page's own server, which signs them. */
export type Answer<T> =
  | { readonly kind: 'ok'; readonly body: T; readonly text: string; readonly etag: string | undefined }
  /** Nothing has changed since the answer with the given ETag. */
  | { readonly kind: 'same' }
  | { readonly kind: 'refused'; readonly message: string; readonly waitSeconds: number };

const USUAL_WAIT_SECONDS = 5;

/**
 * @param path such as `/pipelines`; a refusal's message says what to do
 * @param etag of the answer that the reader holds
 */
export const read = <T>(path: string, etag?: string): Promise<Answer<T>> =>
  call(path, etag === undefined ? {} : { headers: { 'if-none-match': etag } });

/** @param path such as `/runs/digits-000001/stop` */
export const send = <T>(method: 'POST' | 'PUT', path: string, body: unknown): Promise<Answer<T>> =>
  call(path, { method, headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) });

async function call<T>(path: string, init: RequestInit): Promise<Answer<T>> {
  try {
    const response = await fetch(`/api${path}`, init);
    if (response.status === 304) return { kind: 'same' };
    const text = await response.text();
    if (response.ok)
      return { kind: 'ok', body: JSON.parse(text), text, etag: response.headers.get('etag') ?? undefined };
    const waitSeconds = Number(response.headers.get('retry-after') ?? 0) || USUAL_WAIT_SECONDS;
    return { kind: 'refused', message: remedy(response.status, text), waitSeconds };
  } catch {
    return {
      kind: 'refused',
      message:
        'The page has lost its server: start npm start or tidewheel page again, and open what it prints.',
      waitSeconds: USUAL_WAIT_SECONDS,
    };
  }
}

function remedy(status: number, text: string): string {
  const message = messageIn(text);
  if (status === 403)
    return `The API refuses your credentials (403: ${message}). They need execute-api:Invoke: renew them, then start the command again.`;
  if (status === 429) return `The API is throttled (429: ${message}). The page tries again by itself.`;
  return `The API answered ${status}: ${message}`;
}

function messageIn(text: string): string {
  try {
    const body: unknown = JSON.parse(text);
    const message: unknown =
      typeof body === 'object' && body !== null ? Reflect.get(body, 'message') : undefined;
    return typeof message === 'string' ? message : 'no message';
  } catch {
    return 'no message';
  }
}
