/** Calls of the API through the page's own server, which signs them. */
export type Answer<T> =
  | { readonly kind: 'ok'; readonly body: T; readonly text: string }
  | { readonly kind: 'refused'; readonly message: string; readonly waitSeconds: number };

/** @param path such as `/pipelines`; a refusal's message says what to do */
export const read = <T>(path: string): Promise<Answer<T>> => call(path, {});

/** @param path such as `/runs/digits-000001/stop` */
export const post = <T>(path: string, body: unknown): Promise<Answer<T>> =>
  call(path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });

async function call<T>(path: string, init: RequestInit): Promise<Answer<T>> {
  try {
    const response = await fetch(`/api${path}`, init);
    const text = await response.text();
    if (response.ok) return { kind: 'ok', body: JSON.parse(text), text };
    const waitSeconds = Number(response.headers.get('retry-after') ?? 0) || 5;
    return { kind: 'refused', message: remedy(response.status, text), waitSeconds };
  } catch {
    return {
      kind: 'refused',
      message:
        'The page has lost its server: start npm start or npm run page again, and open what it prints.',
      waitSeconds: 5,
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
