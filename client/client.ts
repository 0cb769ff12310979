/**
 * A client of the HTTP API, for browsers and Node alike. How a request is signed and sent is the caller's: the command line
 * signs with SigV4, the page asks its own server, and a browser of a deployment adds a token.
 */
import { OPERATIONS, type Operations, type Problem } from './operations.ts';

export interface ApiCall {
  readonly method: string;
  /** With the query, from the slash behind the API's address. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** What of a `Response` is read. */
export interface ApiReply {
  readonly status: number;
  readonly headers: { get(name: string): string | null };
  text(): Promise<string>;
}

/** Signs and sends. It may throw where nothing answers. */
export type SendCall = (call: ApiCall) => Promise<ApiReply>;

export type OperationId = keyof Operations;

export type Input<Id extends OperationId> = Operations[Id]['parameters'] &
  (undefined extends Operations[Id]['body']
    ? { readonly body?: Operations[Id]['body'] }
    : { readonly body: Operations[Id]['body'] | DeclarationText });

/** A declaration in YAML, as a person wrote it. */
export interface DeclarationText {
  readonly yaml: string;
}

export type ApiAnswer<Body> =
  | { readonly kind: 'ok'; readonly body: Body; readonly etag?: string | undefined }
  /** As the ETag that was sent knows it. */
  | { readonly kind: 'unchanged' }
  | ApiRefusal
  | { readonly kind: 'unreachable'; readonly cause: unknown };

export interface ApiRefusal {
  readonly kind: 'refused';
  readonly status: number;
  /** What is wrong, and what to do. */
  readonly message: string;
  readonly problems: readonly Problem[];
  /** The same call may be made again after this time. */
  readonly retryAfterSeconds?: number | undefined;
}

export interface CallOptions {
  /** ETag of an answer that the caller still has. */
  readonly etag?: string | undefined;
}

export interface Client {
  /** @returns the answer as a value; it throws nothing */
  call<Id extends OperationId>(
    operation: Id,
    input: Input<Id>,
    options?: CallOptions,
  ): Promise<ApiAnswer<Operations[Id]['answer']>>;
}

export function createClient(send: SendCall): Client {
  return {
    async call(operation, input, { etag } = {}) {
      try {
        const reply = await send(callOf(operation, input, etag));
        if (reply.status === 304) return { kind: 'unchanged' };
        const text = await reply.text();
        if (reply.status < 200 || reply.status > 299) return refusalOf(reply, text);
        return { kind: 'ok', body: JSON.parse(text), etag: reply.headers.get('etag') ?? undefined };
      } catch (cause: unknown) {
        return { kind: 'unreachable', cause };
      }
    },
  };
}

/** @param input parameters of path and query by name, and the body */
function callOf(operation: OperationId, input: object, etag: string | undefined): ApiCall {
  const { method, path } = OPERATIONS[operation];
  const { body, ...parameters } = { body: undefined, ...input };
  const query = new URLSearchParams();
  let filled: string = path;
  for (const [name, value] of Object.entries<unknown>(parameters)) {
    if (value === undefined) continue;
    // Whatever it is: the API names a parameter that it does not take.
    const text = typeof value === 'string' ? value : JSON.stringify(value);
    if (path.includes(`{${name}}`)) filled = filled.replace(`{${name}}`, encodeURIComponent(text));
    else query.append(name, text);
  }
  // The page's server takes a change only as JSON, which no form of another page can send.
  const sent = bodyOf(body ?? (method === 'PUT' ? {} : undefined));
  return {
    method,
    path: query.size === 0 ? filled : `${filled}?${query.toString()}`,
    headers: { ...sent?.headers, ...(etag !== undefined && { 'if-none-match': etag }) },
    body: sent?.text,
  };
}

function bodyOf(
  body: unknown,
): { readonly headers: Record<string, string>; readonly text: string } | undefined {
  if (body === undefined) return undefined;
  if (typeof body === 'object' && body !== null && 'yaml' in body && typeof body.yaml === 'string')
    return { headers: { 'content-type': 'application/yaml' }, text: body.yaml };
  return { headers: { 'content-type': 'application/json' }, text: JSON.stringify(body) };
}

function refusalOf({ status, headers }: ApiReply, text: string): ApiRefusal {
  const seconds = Number(headers.get('retry-after') ?? '');
  return {
    kind: 'refused',
    status,
    ...messageIn(text),
    ...(seconds > 0 && { retryAfterSeconds: seconds }),
  };
}

/** API Gateway refuses with a `message` of its own, a proxy between perhaps with a page. */
function messageIn(text: string): Pick<ApiRefusal, 'message' | 'problems'> {
  try {
    const body: unknown = JSON.parse(text);
    if (typeof body === 'object' && body !== null) {
      const message: unknown = Reflect.get(body, 'message') ?? Reflect.get(body, 'Message');
      const problems: unknown = Reflect.get(body, 'problems');
      return {
        message: typeof message === 'string' ? message : 'no message',
        problems: Array.isArray(problems) ? problems.filter(isProblem) : [],
      };
    }
  } catch {
    // No JSON.
  }
  return { message: text.trim().slice(0, 200) || 'no message', problems: [] };
}

const isProblem = (value: unknown): value is Problem =>
  typeof value === 'object' &&
  value !== null &&
  typeof Reflect.get(value, 'path') === 'string' &&
  typeof Reflect.get(value, 'message') === 'string';
