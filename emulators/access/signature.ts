/**
 * Whether a request was signed with the region's key: Signature Version 4 in its headers, as every AWS client signs for
 * SageMaker and EC2. The time of signing is not checked: clients on a virtual clock sign with that clock's time.
 */
import { timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import type { AccessKey } from './access-key.ts';

export type SignatureProblem = 'unsigned' | 'malformed' | 'unknown-key' | 'mismatch';

interface Parts {
  readonly accessKeyId: string;
  readonly region: string;
  readonly service: string;
  readonly signedHeaders: readonly string[];
  readonly signature: string;
}

const AUTHORIZATION =
  /^AWS4-HMAC-SHA256 +Credential=([^/,]+)\/\d{8}\/([^/,]+)\/([^/,]+)\/aws4_request, *SignedHeaders=([^,]+), *Signature=([0-9a-f]{64})$/;
const AMZ_DATE = /^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/;

export async function signatureProblem(
  request: IncomingMessage,
  body: Uint8Array,
  key: AccessKey,
): Promise<SignatureProblem | undefined> {
  const { authorization } = request.headers;
  if (authorization === undefined) return 'unsigned';
  const parts = partsOf(authorization);
  const signedAt = dateOf(request.headers['x-amz-date']?.toString() ?? '');
  if (parts === undefined || signedAt === undefined) return 'malformed';
  // The region's key has no session token: who sends one signs with another key's.
  if (parts.accessKeyId !== key.accessKeyId || request.headers['x-amz-security-token'] !== undefined) {
    return 'unknown-key';
  }
  const expected = await expectedSignature(request, body, { key, parts, signedAt });
  return isSame(expected, parts.signature) ? undefined : 'mismatch';
}

function partsOf(authorization: string): Parts | undefined {
  const [, accessKeyId, region, service, headers, signature] = AUTHORIZATION.exec(authorization) ?? [];
  return accessKeyId && region && service && headers && signature
    ? { accessKeyId, region, service, signedHeaders: headers.split(';'), signature }
    : undefined;
}

function dateOf(text: string): Date | undefined {
  const [, year, month, day, hour, minute, second] = AMZ_DATE.exec(text) ?? [];
  const date = new Date(`${year}-${month}-${day}T${hour}:${minute}:${second}Z`);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** The request is signed once more, with the headers that its client signed. */
async function expectedSignature(
  request: IncomingMessage,
  body: Uint8Array,
  { key, parts, signedAt }: { readonly key: AccessKey; readonly parts: Parts; readonly signedAt: Date },
): Promise<string | undefined> {
  const { region, service, signedHeaders } = parts;
  const url = URL.parse(`http://localhost${request.url ?? '/'}`);
  if (url === null) return undefined;
  // An object would take a parameter called __proto__ for its own.
  const query = new Map<string, string[]>();
  for (const [name, value] of url.searchParams) query.set(name, [...(query.get(name) ?? []), value]);
  const signer = new SignatureV4({ service, region, credentials: key, sha256: Sha256, applyChecksum: false });
  const { headers } = await signer.sign(
    {
      method: request.method ?? 'GET',
      protocol: 'http:',
      hostname: url.hostname,
      path: url.pathname,
      query: Object.fromEntries(query),
      headers: Object.fromEntries(
        signedHeaders.map((name) => [name, request.headers[name]?.toString() ?? '']),
      ),
      body,
    },
    { signingDate: signedAt, signableHeaders: new Set(signedHeaders) },
  );
  return partsOf(headers['authorization'] ?? '')?.signature;
}

const isSame = (expected: string | undefined, given: string): boolean =>
  expected?.length === given.length && timingSafeEqual(Buffer.from(expected), Buffer.from(given));
