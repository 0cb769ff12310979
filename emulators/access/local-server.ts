/**
 * The HTTP servers of this machine. They listen on 127.0.0.1 alone and answer programs and their own pages. No request
 * ends a server, and no body fills its memory.
 */
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

/** @throws Error with code EADDRINUSE */
export async function serveLocally(
  answer: (request: IncomingMessage, response: ServerResponse) => void | Promise<void>,
  { port = 0, log = () => undefined }: LocalServerOptions = {},
): Promise<LocalServer> {
  const answerSafely = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    try {
      if (!refusesPage(request, response)) await answer(request, response);
    } catch (error: unknown) {
      log(`${request.method} request failed: ${error instanceof Error ? error.message : String(error)}`);
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end('The server failed: its log says why.\n');
    }
  };
  // Clients keep their connections, and a request that meets the end of one is lost.
  const keeps = { keepAliveTimeout: 60_000 };
  const server = createServer(keeps, (request, response) => void answerSafely(request, response));
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
  if (refusal === undefined) return false;
  // The server drops the rest of the request, so that the answer reaches the client.
  request.resume();
  response.writeHead(403, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(`${refusal}\n`);
  return true;
}
