/**
 * The HTTP servers of this machine. They listen on 127.0.0.1 alone and answer programs and their own pages. No request
 * ends a server, and no body fills its memory.
 */
import { timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http';

export interface LocalServer {
  readonly port: number;
  readonly url: string;
  close(): Promise<void>;
}

interface LocalServerOptions {
  /** 0 or nothing takes a free one. */
  readonly port?: number | undefined;
  /** Takes why a request failed. */
  readonly log?: (line: string) => void;
}

// Clients keep their connections, and a request that meets the end of one is lost.
const KEEPS = { keepAliveTimeout: 60_000, headersTimeout: 30_000, requestTimeout: 60_000 };
const MOST_HEADER_BYTES = 16_384;
const MOST_CONNECTIONS = 2_048;

/** @param address what the request asks for: a server matches it, and calls nothing else */
type Answer = (request: IncomingMessage, response: ServerResponse, address: URL) => void | Promise<void>;

/** @throws Error with code EADDRINUSE */
export async function serveLocally(
  answer: Answer,
  { port = 0, log = () => undefined }: LocalServerOptions = {},
): Promise<LocalServer> {
  const answerSafely = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      const address = addressIn(request);
      if (refusesPage(request, response)) return;
      if (address === undefined) refuse(request, response, 400, UNCLEAR);
      else await answer(request, response, address);
    } catch (error: unknown) {
      log(`${request.method} request failed: ${error instanceof Error ? error.message : String(error)}`);
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end('The server failed: its log says why.\n');
    }
  };
  const server = createServer(
    { ...KEEPS, maxHeaderSize: MOST_HEADER_BYTES },
    (request, response) => void answerSafely(request, response),
  );
  server.maxConnections = MOST_CONNECTIONS;
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const own = typeof address === 'object' && address !== null ? address.port : port;
  return {
    port: own,
    url: `http://127.0.0.1:${own}`,
    close: async () => {
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

const UNCLEAR = String.raw`Write the address without \, #, .., // and encoded dots or slashes.`;

/** @returns undefined where a parser changes the address, or where another one might read the path otherwise */
function addressIn({ url = '' }: IncomingMessage): URL | undefined {
  const address = url.startsWith('/') ? URL.parse(`http://127.0.0.1${url}`) : null;
  if (address === null || `${address.pathname}${address.search}` !== url) return undefined;
  return /\/\/|%2e|%2f|%5c/i.test(address.pathname) ? undefined : address;
}

/** In a time that does not depend on where they differ. */
export function isSecret(given: string, secret: string): boolean {
  const [bytes, expected] = [Buffer.from(given), Buffer.from(secret)];
  return bytes.length === expected.length && timingSafeEqual(bytes, expected);
}

/**
 * The whole body is read, so that the answer reaches a client that is still sending.
 * @returns undefined where it has more bytes
 */
export async function bodyWithin(request: IncomingMessage, mostBytes: number): Promise<Buffer | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) continue;
    bytes += chunk.length;
    if (bytes <= mostBytes) chunks.push(chunk);
    else chunks.length = 0;
  }
  return bytes <= mostBytes ? Buffer.concat(chunks) : undefined;
}

// No web page may use a region: its servers run programs, and every browser of this machine can reach them. A page sends
// its origin along, or after rebinding its name to 127.0.0.1 a host of its own; programs send neither. No answer ever
// carries a CORS header. emulators/aws/door.py keeps the same rule in front of MiniStack.

const LOCAL_HOST = /^(localhost|127(\.\d{1,3}){3}|\[::1\]|([a-z0-9_-]+\.)+localhost)(:\d+)?$/i;

const FROM_A_PAGE = 'The local region answers programs on this machine, not web pages of other origins.';
const OTHER_HOST = 'The local region answers at 127.0.0.1 and localhost, under no other name.';

/** Why a page that sent these headers is not answered; undefined for a program, and for a page of the server itself. */
function refusalOfPage(headers: IncomingHttpHeaders): string | undefined {
  const { host = '', origin } = headers;
  if (!LOCAL_HOST.test(host)) return OTHER_HOST;
  const isForeign = origin !== undefined && origin !== `http://${host}`;
  // https://developer.mozilla.org/en-US/docs/Web/HTTP/Reference/Headers/Sec-Fetch-Site
  const site = headers['sec-fetch-site'] ?? 'none';
  return isForeign || (site !== 'none' && site !== 'same-origin') ? FROM_A_PAGE : undefined;
}

/** @returns whether the request came from a page and has been answered with 403 */
function refusesPage(request: IncomingMessage, response: ServerResponse): boolean {
  const refusal = refusalOfPage(request.headers);
  if (refusal !== undefined) refuse(request, response, 403, refusal);
  return refusal !== undefined;
}

function refuse(request: IncomingMessage, response: ServerResponse, status: number, why: string): void {
  // The server drops the rest of the request, so that the answer reaches the client.
  request.resume();
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(`${why}\n`);
}
