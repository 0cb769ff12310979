/** Raw servers and transports to them, for the tests of one file. All are closed after each test. */
import { afterEach } from 'vitest';
import { HttpTransport } from '../../../functions/aws/s3/http-transport.ts';
import { rawServer } from './raw-server.ts';

interface Closable {
  close(): unknown;
}

const open: Closable[] = [];
afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

export const closeAfterTest = (one: Closable): void => void open.push(one);

export async function serve(...how: Parameters<typeof rawServer>): ReturnType<typeof rawServer> {
  const peer = await rawServer(...how);
  closeAfterTest(peer);
  return peer;
}

export function sockets(
  port: number,
  { connections = 4, silence = 5_000, origin = `http://127.0.0.1:${port}` } = {},
): HttpTransport {
  const opened = new HttpTransport({ origin, connections, silenceMilliseconds: silence });
  closeAfterTest(opened);
  return opened;
}
