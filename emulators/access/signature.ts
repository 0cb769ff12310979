/**
 * The body of a request that was signed with the region's key: Signature Version 4 in its headers, as every AWS client signs for
 * SageMaker and EC2. The time of signing is not checked: clients on a virtual clock sign with that clock's time.
 */
import type { IncomingMessage } from 'node:http';
import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import type { AccessKey } from './access-key.ts';
import { bodyWithin, isSecret } from './local-server.ts';

export type SignatureProblem = 'unsigned' | 'malformed' | 'unknown-key' | 'too-large' | 'mismatch';

interface Signing {
  readonly key: AccessKey;
  readonly mostBytes: number;
}

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

/** Nothing of the body is kept before its sender has named the key. */
export async function signedBody(
  request: IncomingMessage,
  url: URL,
  { key, mostBytes }: Signing,
): Promise<Buffer | SignatureProblem> {
  const claim = claimOf(request, key);
  const body = await bodyWithin(request, typeof claim === 'string' ? 0 : mostBytes);
  if (typeof claim === 'string') return claim;
  if (body === undefined) return 'too-large';
  const expected = await expectedSignature(request, { url, body }, { key, ...claim });
  return isSecret(claim.parts.signature, expected ?? '') ? body : 'mismatch';
}

interface Claim {
  readonly parts: Parts;
  readonly signedAt: Date;
}

function claimOf({ headers }: IncomingMessage, key: AccessKey): Claim | SignatureProblem {
  if (headers.authorization === undefined) return 'unsigned';
  const parts = partsOf(headers.authorization);
  const signedAt = dateOf(headers['x-amz-date']?.toString() ?? '');
  if (parts === undefined || signedAt === undefined) return 'malformed';
  // The region's key has no session token: who sends one signs with another key's.
  const isOther = parts.accessKeyId !== key.accessKeyId || headers['x-amz-security-token'] !== undefined;
  return isOther ? 'unknown-key' : { parts, signedAt };
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
  { url, body }: { readonly url: URL; readonly body: Uint8Array },
  { key, parts, signedAt }: Claim & { readonly key: AccessKey },
): Promise<string | undefined> {
  const { region, service, signedHeaders } = parts;
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
