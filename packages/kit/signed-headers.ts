/** Signs a request as every AWS client does, where no client of the service exists. */
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';

export interface Signing {
  /** Of the signature, such as `execute-api`. */
  readonly service: string;
  readonly region: string;
  readonly credentials: ConstructorParameters<typeof SignatureV4>[0]['credentials'];
}

export interface Signable {
  readonly method: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
}

/** @returns the headers to send; `host` is among them */
export async function signedHeaders(
  url: URL,
  { method, headers = {}, body }: Signable,
  signing: Signing,
): Promise<Record<string, string>> {
  // As S3's own clients do: its keys are encoded once.
  const uriEscapePath = signing.service !== 's3';
  const signed = await new SignatureV4({ ...signing, uriEscapePath, sha256: Sha256 }).sign({
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

/** @param options of fetch, beside what is signed */
export async function signedFetch(
  url: URL,
  request: Signable,
  signing: Signing,
  options: RequestInit = {},
): Promise<Response> {
  // fetch sets the host itself.
  const { host: _host, ...headers } = await signedHeaders(url, request, signing);
  const { method, body } = request;
  return fetch(url, { ...options, method, headers, ...(body !== undefined && { body }) });
}
