/** A request as an AWS client signs it, where a test needs the plain answer or a whole client would be too much. */
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import type { AccessKey } from '@tidewheel/emulators/access/access-key.ts';
import { TEST_KEY } from './emulator.ts';

export interface SignedRequest {
  readonly service: string;
  readonly method?: 'GET' | 'PUT' | 'POST' | 'DELETE';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly credentials?: AccessKey;
}

export async function signedFetch(address: string, request: SignedRequest): Promise<Response> {
  const headers = await signedHeaders(address, request);
  // fetch sets the host itself.
  return fetch(address, {
    method: request.method ?? 'GET',
    headers: Object.fromEntries(Object.entries(headers).filter(([name]) => name !== 'host')),
    ...(request.body !== undefined && { body: request.body }),
  });
}

/** What the request is sent with; `host` is among them. */
export async function signedHeaders(
  address: string,
  { service, method = 'GET', headers = {}, body, credentials = TEST_KEY }: SignedRequest,
): Promise<Record<string, string>> {
  const url = new URL(address);
  const signer = new SignatureV4({
    service,
    region: 'us-east-1',
    credentials,
    sha256: Sha256,
    // As S3's own clients do: its keys are encoded once.
    uriEscapePath: service !== 's3',
  });
  const signed = await signer.sign({
    method,
    protocol: url.protocol,
    hostname: url.hostname,
    path: url.pathname,
    query: Object.fromEntries(url.searchParams),
    headers: { host: url.host, ...headers },
    ...(body !== undefined && { body }),
  });
  return signed.headers;
}
