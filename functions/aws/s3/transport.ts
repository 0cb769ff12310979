/** One HTTP exchange with S3. */
import type { IncomingHttpHeaders } from 'node:http';

/** The transport sets `abort` when it sends the request. */
export interface Cancellation {
  cancelled: boolean;
  abort?: ((reason: Error) => void) | undefined;
}

/** Drops an exchange, sent or not. It does nothing to one that has ended. */
export function cancel(cancellation: Cancellation, reason: Error): void {
  cancellation.cancelled = true;
  cancellation.abort?.(reason);
}

export interface Exchange {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE';
  /** Path and query, encoded. */
  readonly path: string;
  /** Names and values in turn. */
  readonly headers: string[];
  readonly body?: Uint8Array | undefined;
  /** Memory for a body of exactly this length. Until the answer is there, only the transport may use it. */
  readonly into?: Uint8Array | undefined;
  /** Lets the sender drop the exchange. One AbortSignal a request would cost more. */
  cancellation?: Cancellation | undefined;
}

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly chunks: readonly Uint8Array[];
  /** Bytes of all chunks. */
  readonly size: number;
}

export const bodyText = (answer: Answer): string => Buffer.concat(answer.chunks).toString('utf8');

export function headerOf(answer: Answer, name: string): string {
  const value = answer.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? '';
}

export const etagOf = (answer: Answer): string => headerOf(answer, 'etag').replaceAll('"', '');

export interface TransportOptions {
  readonly origin: string;
  /** Sockets kept open. */
  readonly connections: number;
  /** Longest silence before the headers and between two pieces of the body. */
  readonly silenceMilliseconds: number;
}

/** Gets the answer: the transport calls exactly one of the two. A promise at every level would cost more. */
export interface Receiver {
  answered(answer: Answer): void;
  failed(error: unknown): void;
}

export interface Transport {
  dispatch(exchange: Exchange, receiver: Receiver): void;
  close(): Promise<void>;
}
