/**
 * The page's server, on 127.0.0.1 only. It signs reading calls, and those of the page's buttons, with the credentials of
 * the person who started it, and passes on nothing else. It answers only browsers that have opened its address, which
 * carries a random token: other users of the machine reach the port, too.
 */
import { randomBytes, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { refusesPage } from '@tidewheel/emulators/access/web-pages.ts';
import { type Signing, signedHeaders } from '@tidewheel/emulators/shared/signed-headers.ts';
import { OPERATIONS } from '../../client/operations.ts';
import { documentHeaders, HEADERS as PAGE_HEADERS } from '../../functions/core/page/headers.ts';
import type { PageFile } from './files.ts';

export interface PageDeps extends Pick<Signing, 'region' | 'credentials'> {
  readonly files: ReadonlyMap<string, PageFile>;
  /** Address of the API, without a slash at its end. */
  readonly apiUrl: string;
}

/** The calls of a reader, and those of the buttons, by the API's own list. */
const READING = pathsOf(Object.values(OPERATIONS).filter(({ method }) => method === 'GET'));
const STEERING = {
  POST: pathsOf([OPERATIONS.stopRun, OPERATIONS.retryRun, OPERATIONS.startRun]),
  PUT: pathsOf([OPERATIONS.putLimits, OPERATIONS.putPin]),
  DELETE: pathsOf([OPERATIONS.deleteCheckpoints]),
};
const TIMEOUT_MILLISECONDS = 15_000;
const LARGEST_BODY = 65_536;

const HEADERS = { ...PAGE_HEADERS, 'cache-control': 'no-store' };
const DOCUMENT_HEADERS = documentHeaders();

function pathsOf(operations: readonly { readonly path: string }[]): RegExp {
  const paths = operations.map(({ path }) =>
    path.replaceAll('.', String.raw`\.`).replaceAll(/\{\w+\}/g, '[^/]+'),
  );
  return new RegExp(`^/api(${paths.join('|')})$`);
}

export interface ServedPage {
  /** With the token. */
  readonly address: string;
  close(): void;
}

/** @param port undefined for any free one. @throws Error with code EADDRINUSE */
export async function servePage(deps: PageDeps, port?: number): Promise<ServedPage> {
  const token = randomBytes(16).toString('hex');
  const server = createServer((request, response) => {
    void respond(deps, { token, cookie: `tidewheel-${portOf(server)}` }, request, response);
  });
  server.listen(port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  return {
    address: `http://127.0.0.1:${portOf(server)}/?token=${token}`,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return address.port;
}

interface Door {
  readonly token: string;
  /** Cookies belong to a host, not to a port. */
  readonly cookie: string;
}

async function respond(
  deps: PageDeps,
  door: Door,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (refusesPage(request, response)) return;
  const url = addressIn(request);
  const { method } = request;
  if (method === 'POST' || method === 'PUT' || method === 'DELETE')
    return steer({ deps, door, method }, request, response);
  request.resume();
  if (method !== 'GET')
    return sendProblem(response, 405, 'the page reads and steers: use GET, POST, PUT or DELETE');
  if (equals(url.searchParams.get('token') ?? '', door.token)) return letIn(door, url, response);
  if (!equals(cookieOf(request, door.cookie), door.token))
    return sendProblem(response, 401, 'open the whole address that the command printed, with its token');
  const file = deps.files.get(url.pathname);
  if (file !== undefined) return sendFile(request, response, file);
  const call = READING.exec(url.pathname)?.[1];
  if (call === undefined) return sendProblem(response, 404, `the page has no ${url.pathname}`);
  await pass(
    deps,
    { method: 'GET', call: `${call}${url.search}`, etag: request.headers['if-none-match'] },
    response,
  );
}

/** A request may name anything. */
const addressIn = ({ url }: IncomingMessage): URL =>
  new URL(`http://127.0.0.1${url?.startsWith('/') ? url : '/'}`);

/** The token leaves the address bar. */
function letIn({ cookie, token }: Door, { pathname }: URL, response: ServerResponse): void {
  const headers = {
    location: pathname,
    'set-cookie': `${cookie}=${token}; HttpOnly; SameSite=Strict; Path=/`,
  };
  response.writeHead(303, { ...HEADERS, ...DOCUMENT_HEADERS, ...headers }).end();
}

/** Every browser takes gzip. */
function sendFile({ headers }: IncomingMessage, response: ServerResponse, file: PageFile): void {
  const takesBrotli = /\bbr\b/.test(String(headers['accept-encoding'] ?? ''));
  const content = takesBrotli ? file.brotli : file.gzip;
  response.writeHead(200, {
    ...HEADERS,
    ...(file.type.startsWith('text/html') && DOCUMENT_HEADERS),
    'content-type': file.type,
    'content-encoding': takesBrotli ? 'br' : 'gzip',
    'content-length': content.length,
  });
  response.end(content);
}

interface Steering {
  readonly deps: PageDeps;
  readonly door: Door;
  readonly method: keyof typeof STEERING;
}

/** What the page's buttons change. Pages of other origins were refused, and the cookie goes with requests of this page alone. */
async function steer(
  { deps, door, method }: Steering,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const body = await bodyOf(request);
  if (!equals(cookieOf(request, door.cookie), door.token))
    return sendProblem(response, 401, 'open the whole address that the command printed, with its token');
  const call = STEERING[method].exec(request.url ?? '')?.[1];
  if (call === undefined) return sendProblem(response, 405, 'the page has no button for that');
  if (method === 'DELETE') return pass(deps, { method, call }, response);
  if (request.headers['content-type'] !== 'application/json' || body === undefined)
    return sendProblem(response, 415, `send application/json of at most ${LARGEST_BODY} bytes`);
  await pass(deps, { method, call, body }, response);
}

/** @returns undefined where it is too large */
async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of request) {
    if (!Buffer.isBuffer(part)) continue;
    bytes += part.length;
    if (bytes <= LARGEST_BODY) parts.push(part);
  }
  return bytes > LARGEST_BODY ? undefined : Buffer.concat(parts).toString();
}

function cookieOf({ headers }: IncomingMessage, name: string): string {
  const pairs = (headers.cookie ?? '').split(/; */);
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
}

/** In a time that does not depend on where they differ. */
const equals = (given: string, token: string): boolean =>
  given.length === token.length && timingSafeEqual(Buffer.from(given), Buffer.from(token));

interface Call {
  readonly method: 'GET' | keyof typeof STEERING;
  readonly call: string;
  readonly body?: string;
  /** Of the answer that the browser holds. */
  readonly etag?: string | undefined;
}

async function pass(deps: PageDeps, call: Call, response: ServerResponse): Promise<void> {
  try {
    const answer = await signedCall(deps, call);
    const body = await answer.text();
    const later = answer.headers.get('retry-after');
    const etag = answer.headers.get('etag');
    response.writeHead(answer.status, {
      ...HEADERS,
      'content-type': 'application/json',
      ...(later !== null && { 'retry-after': later }),
      ...(etag !== null && { etag }),
    });
    response.end(body);
  } catch (error: unknown) {
    sendProblem(response, 502, `${deps.apiUrl} gave no answer (${reason(error)}): is the region up?`);
  }
}

async function signedCall(
  { credentials, region, apiUrl }: PageDeps,
  { method, call, body, etag }: Call,
): Promise<Response> {
  const url = new URL(`${apiUrl}${call}`);
  const signing = { service: 'execute-api', region, credentials };
  // fetch sets the host itself.
  const { host: _host, ...headers } = await signedHeaders(url, { method, body }, signing);
  return fetch(url, {
    method,
    headers: { ...headers, ...(etag !== undefined && { 'if-none-match': etag }) },
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS),
    ...(body !== undefined && { body }),
  });
}

function reason(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? error.cause.message : error.message;
}

function sendProblem(response: ServerResponse, status: number, message: string): void {
  response
    .writeHead(status, { ...HEADERS, 'content-type': 'application/json' })
    .end(JSON.stringify({ message }));
}
