/** A request to the made-up S3, and its answer. */
import type http from 'node:http';

export interface Call {
  readonly method: string;
  readonly key: string;
  readonly query: URLSearchParams;
  readonly headers: http.IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface Reply {
  readonly status: number;
  readonly headers?: Record<string, string>;
  readonly body?: Buffer | string;
}

export const failure = (status: number, code: string): Reply => ({
  status,
  body: `<Error><Code>${code}</Code><Message>${code}</Message></Error>`,
});
