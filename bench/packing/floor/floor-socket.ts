/** One socket with one request at a time, and as little as possible around it: no checks, no timeouts, no retries. */
import net from 'node:net';

export class FloorSocket {
  readonly #socket: net.Socket;
  readonly #endpoint: URL;
  readonly #into: Buffer;
  readonly #head = Buffer.alloc(64 * 1024);
  /** Bytes of the body that are still to come; undefined before the head came. */
  #left: number | undefined;
  #filled = 0;
  #done: (bytes: number) => void = () => {};

  /** @param into memory that every body is read into; none may be longer */
  constructor(endpoint: URL, into: Buffer) {
    this.#endpoint = endpoint;
    this.#into = into;
    this.#socket = net.connect({
      host: endpoint.hostname,
      port: Number(endpoint.port),
      noDelay: true,
      onread: {
        buffer: () => (this.#left === undefined ? this.#head : this.#into.subarray(this.#filled)),
        callback: (length) => this.#read(length),
      },
    });
  }

  /** @returns how many bytes the answer has */
  send(method: string, path: string, headers: string, body?: Buffer): Promise<number> {
    this.#left = undefined;
    this.#filled = 0;
    const head = `${method} ${path} HTTP/1.1\r\nhost: ${this.#endpoint.host}\r\n${headers}\r\n`;
    return new Promise((resolve) => {
      this.#done = resolve;
      this.#socket.cork();
      this.#socket.write(head, 'latin1');
      if (body !== undefined) this.#socket.write(body);
      this.#socket.uncork();
    });
  }

  close(): void {
    this.#socket.destroy();
  }

  #read(length: number): boolean {
    if (this.#left === undefined) this.#readHead(length);
    else {
      this.#filled += length;
      this.#left -= length;
    }
    if (this.#left !== 0) return true;
    this.#left = undefined;
    this.#done(this.#filled);
    return true;
  }

  /** The made-up S3 sends a head at once. */
  #readHead(length: number): void {
    const text = this.#head.toString('latin1', 0, Math.min(length, 2_048));
    const start = text.indexOf('\r\n\r\n') + 4;
    const announced = /content-length: (\d+)/i.exec(text)?.[1];
    if (start < 4 || announced === undefined) throw new Error(`the floor does not read this answer: ${text}`);
    this.#filled = this.#head.copy(this.#into, 0, start, length);
    this.#left = Number(announced) - this.#filled;
  }
}
