/**
 * The page's server, on 127.0.0.1 only. It signs reading calls, and those of the page's buttons, with the credentials of
 * the person who started it, and passes on nothing else. It answers only browsers that have opened its address, which
 * carries a random token: other users of the machine reach the port, too.
 */
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { bodyWithin, isSecret, serveLocally } from '@tidewheel/emulators/access/local-server.ts';
import { type Signing, signedFetch } from '@tidewheel/kit/signed-headers.ts';
import { OPERATIONS } from '../../client/operations.ts';
import { documentHeaders, HEADERS as PAGE_HEADERS } from '../../functions/api/page/headers.ts';
import type { PageFile } from './page-files.ts';

export interface PageServerDeps extends Pick<Signing, 'region' | 'credentials'> {
  readonly files: ReadonlyMap<string, PageFile>;
  /** Address of the API, without a slash at its end. */
  readonly apiUrl: string;
  /** Words that commands need to name the deployment. */
  readonly place?: string;
}

/** The calls of a reader, and those of the buttons, by the API's own list. */
const READING = pathsOf(Object.values(OPERATIONS).filter(({ method }) => method === 'GET'));
const STEERING = {
  POST: pathsOf([OPERATIONS.stopRun, OPERATIONS.retryRun, OPERATIONS.startRun, OPERATIONS.chooseModel]),
  PUT: pathsOf([OPERATIONS.acknowledgeRun, OPERATIONS.annotateRun, OPERATIONS.putLimits, OPERATIONS.putPin]),
  DELETE: pathsOf([OPERATIONS.deleteCheckpoints]),
};
const TIMEOUT_MILLISECONDS = 15_000;
const LARGEST_BODY = 65_536;

const HEADERS = { ...PAGE_HEADERS, 'cache-control': 'no-store' };
const DOCUMENT_HEADERS = documentHeaders();

function pathsOf(operations: readonly { readonly path: string }[]): RegExp {
  const paths = operations.map(({ path }) =>
    path.replaceAll('.', String.raw`\.`).replaceAll(/\{\w+\}/g, '[^/?]+'),
  );
  return new RegExp(`^/api(${paths.join('|')})$`);
}

export interface ServedPage {
  /** With the token. */
  readonly address: string;
  close(): void;
}

/** @param port undefined for any free one. @throws Error with code EADDRINUSE */
export async function servePage(deps: PageServerDeps, port?: number): Promise<ServedPage> {
  const token = randomBytes(16).toString('hex');
  const server = await serveLocally(
    (request, response, url) =>
      respond(deps, { token, cookie: `tidewheel-${request.socket.localPort}`, url }, request, response),
    { port },
  );
  return { address: `${server.url}/?token=${token}`, close: () => void server.close() };
}

interface Door {
  readonly token: string;
  /** Cookies belong to a host, not to a port. */
  readonly cookie: string;
  readonly url: URL;
}

async function respond(
  deps: PageServerDeps,
  door: Door,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { url } = door;
  const method = METHODS.find((one) => one === request.method);
  if (method === undefined)
    return sendProblem(response, 405, 'the page reads and steers: use GET, POST, PUT or DELETE');
  if (method === 'GET' && isSecret(url.searchParams.get('token') ?? '', door.token))
    return letIn({ ...door, place: deps.place ?? '' }, response);
  if (!isSecret(cookieOf(request, door.cookie), door.token))
    return sendProblem(response, 401, 'open the whole address that the command printed, with its token');
  if (method !== 'GET')
    return steer({ deps, method, path: `${url.pathname}${url.search}` }, request, response);
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

const METHODS = ['GET', 'POST', 'PUT', 'DELETE'] as const;

/** The token leaves the address bar. The page reads the second cookie. */
function letIn(
  { cookie, token, place, url: { pathname } }: Door & { readonly place: string },
  response: ServerResponse,
): void {
  const headers = {
    location: pathname,
    'set-cookie': [
      `${cookie}=${token}; HttpOnly; SameSite=Strict; Path=/`,
      `${cookie}-place=${encodeURIComponent(place)}; SameSite=Strict; Path=/`,
    ],
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
  readonly deps: PageServerDeps;
  readonly method: keyof typeof STEERING;
  readonly path: string;
}

/** What the page's buttons change. Pages of other origins were refused, and the cookie goes with requests of this page alone. */
async function steer(
  { deps, method, path }: Steering,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const call = STEERING[method].exec(path)?.[1];
  if (call === undefined) return sendProblem(response, 405, 'the page has no button for that');
  if (method === 'DELETE') return pass(deps, { method, call }, response);
  const body = await bodyWithin(request, LARGEST_BODY);
  if (request.headers['content-type'] !== 'application/json' || body === undefined)
    return sendProblem(response, 415, `send application/json of at most ${LARGEST_BODY} bytes`);
  await pass(deps, { method, call, body: body.toString() }, response);
}

function cookieOf({ headers }: IncomingMessage, name: string): string {
  const pairs = (headers.cookie ?? '').split(/; */);
  return pairs.find((pair) => pair.startsWith(`${name}=`))?.slice(name.length + 1) ?? '';
}

interface Call {
  readonly method: 'GET' | keyof typeof STEERING;
  readonly call: string;
  readonly body?: string;
  /** Of the answer that the browser holds. */
  readonly etag?: string | undefined;
}

async function pass(deps: PageServerDeps, call: Call, response: ServerResponse): Promise<void> {
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

function signedCall(
  { credentials, region, apiUrl }: PageServerDeps,
  { method, call, body, etag }: Call,
): Promise<Response> {
  const signing = { service: 'execute-api', region, credentials };
  const headers = etag === undefined ? {} : { 'if-none-match': etag };
  return signedFetch(new URL(`${apiUrl}${call}`), { method, headers, body }, signing, {
    redirect: 'error',
    signal: AbortSignal.timeout(TIMEOUT_MILLISECONDS),
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
