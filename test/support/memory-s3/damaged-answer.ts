/** Answers of the made-up S3 that come damaged or late; the call has had its effect. */
import type http from 'node:http';
import type { Reply } from './exchange.ts';

/** `short`: a body that lacks its second half and says so in its length; nothing but the plan knows better. */
export type Damage = 'truncate' | 'corrupt' | 'slow' | 'short';

/** Longer than a caller waits before it asks a second time. */
const SLOW_MILLISECONDS = 400;

export function spoil(response: http.ServerResponse, reply: Reply, damage: Damage): void {
  const body = Buffer.from(reply.body ?? '');
  const middle = body.length >> 1;
  if (damage === 'short' && middle > 0) {
    const headers = Object.entries({ ...reply.headers }).filter(
      ([name]) => !name.startsWith('x-amz-checksum'),
    );
    response.writeHead(reply.status, { ...Object.fromEntries(headers), 'content-length': String(middle) });
    response.end(body.subarray(0, middle));
    return;
  }
  // A HEAD states the length of a body that it has not: a zero there would be a lie, and no damage that S3 knows.
  response.writeHead(reply.status, { 'content-length': String(body.length), ...reply.headers });
  if (damage === 'slow') {
    response.write(body.subarray(0, middle));
    setTimeout(() => response.end(body.subarray(middle)), SLOW_MILLISECONDS);
  } else if (damage === 'corrupt' && body.length > 0) {
    body[0] = (body[0] ?? 0) ^ 0xff;
    response.end(body);
  } else response.write(body.subarray(0, middle), () => response.socket?.destroy());
}
