/**
 * No web page may use a region: its servers run programs, and every browser of this machine can reach them. A page sends
 * its origin along, or after rebinding its name to 127.0.0.1 a host of its own; programs send neither. No answer ever
 * carries a CORS header. emulators/aws/door.py keeps the same rule in front of MiniStack.
 */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';

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
export function refusesPage(request: IncomingMessage, response: ServerResponse): boolean {
  const refusal = refusalOfPage(request.headers);
  if (refusal === undefined) return false;
  // The server drops the rest of the request, so that the answer reaches the client.
  request.resume();
  response.writeHead(403, { 'content-type': 'text/plain; charset=utf-8' });
  response.end(`${refusal}\n`);
  return true;
}
