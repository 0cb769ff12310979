/** A server that answers with raw bytes, right or wrong ones. */
import net from 'node:net';

export interface RawServer {
  readonly port: number;
  readonly sockets: net.Socket[];
  readonly requests: string[];
  close(): void;
}

/** A server that computes each answer from the number of the request; undefined gives no answer. */
export async function rawServer(
  answer: (number: number, socket: net.Socket) => string | undefined,
  make: (listener: (socket: net.Socket) => void) => net.Server = (listener) => net.createServer(listener),
): Promise<RawServer> {
  const sockets: net.Socket[] = [];
  const requests: string[] = [];
  const server = make((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (bytes: Buffer) => {
      requests.push(bytes.toString('latin1'));
      const text = answer(requests.length - 1, socket);
      if (text !== undefined && !socket.destroyed) socket.write(text, 'latin1');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const close = (): void => {
    for (const socket of sockets) socket.destroy();
    server.close();
  };
  const address = server.address();
  const port = typeof address === 'object' && address !== null ? address.port : 0;
  return { port, sockets, requests, close };
}
