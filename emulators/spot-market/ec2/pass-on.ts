/** Sends a request on as it came: headers included, so that its signature stays valid, and the answer streamed back. */
import http from 'node:http';
import { pipeline } from 'node:stream/promises';

/** Of one connection, not of the message. */
const HOP_BY_HOP = new Set([
  'connection',
  'keep-alive',
  'transfer-encoding',
  'upgrade',
  'te',
  'trailer',
  'expect',
]);
const TIMEOUT_MS = 60_000;

export async function passOn(
  request: http.IncomingMessage,
  body: Buffer,
  response: http.ServerResponse,
  endpointUrl: string,
): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>();
  const onward = http.request(new URL(request.url ?? '/', endpointUrl), {
    method: request.method,
    headers: { ...endToEnd(request.headers), 'content-length': body.length },
    timeout: TIMEOUT_MS,
  });
  onward.on('response', resolve);
  onward.on('error', reject);
  onward.on('timeout', () => onward.destroy(new Error(`no answer within ${TIMEOUT_MS / 1_000} s`)));
  onward.end(body);
  const answer = await promise;
  response.writeHead(answer.statusCode ?? 502, endToEnd(answer.headers));
  await pipeline(answer, response);
}

const endToEnd = (headers: http.IncomingHttpHeaders): http.OutgoingHttpHeaders =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => !HOP_BY_HOP.has(name)));
