import { Sha256 } from '@aws-crypto/sha256-js';
import { SignatureV4 } from '@smithy/signature-v4';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { encodeKey, encodeValue, Signer } from '../../../../functions/aws/s3/sigv4.ts';

const CREDENTIALS = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
};
const NOW = Date.UTC(2026, 10, 21, 4, 15, 0);

/** What the AWS SDK's own signer makes of the same request. */
async function theirs(
  request: { method: string; key: string; query: Record<string, string>; headers: Record<string, string> },
  token?: string,
) {
  const signer = new SignatureV4({
    service: 's3',
    region: 'eu-central-1',
    credentials: token === undefined ? CREDENTIALS : { ...CREDENTIALS, sessionToken: token },
    sha256: Sha256,
    uriEscapePath: false,
    applyChecksum: false,
  });
  const signed = await signer.sign(
    {
      method: request.method,
      protocol: 'https:',
      hostname: 'bucket.example',
      path: `/${encodeKey(request.key)}`,
      query: request.query,
      headers: { host: 'bucket.example', 'x-amz-content-sha256': 'UNSIGNED-PAYLOAD', ...request.headers },
    },
    { signingDate: new Date(NOW) },
  );
  return signed.headers['authorization'];
}

function ours(
  request: { method: string; key: string; query: Record<string, string>; headers: Record<string, string> },
  token?: string,
) {
  const query = Object.entries(request.query)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, value]) => `${encodeValue(name)}=${encodeValue(value)}`)
    .join('&');
  const flat = new Signer('eu-central-1').sign(
    {
      method: request.method,
      path: `/${encodeKey(request.key)}`,
      query,
      host: 'bucket.example',
      amzHeaders: Object.entries(request.headers),
    },
    token === undefined ? CREDENTIALS : { ...CREDENTIALS, sessionToken: token },
    NOW,
  );
  return flat[flat.indexOf('authorization') + 1]?.replaceAll(',', ', ');
}

describe('our signatures', () => {
  it('equal the SDK signer for any key and query', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.string({ unit: 'grapheme', minLength: 1 }).filter((text) => text.isWellFormed()),
        fc.dictionary(
          fc.stringMatching(/^[a-z][a-z-]{0,10}$/),
          fc.string({ unit: 'grapheme' }).filter((text) => text.isWellFormed()),
        ),
        async (key, query) => {
          const request = { method: 'GET', key, query, headers: {} };
          expect(ours(request)).toBe(await theirs(request));
        },
      ),
      { numRuns: 200 },
    );
  });

  it('sign the session token and every x-amz header', async () => {
    const request = {
      method: 'PUT',
      key: 'a/b c',
      query: { partNumber: '1', uploadId: 'x/y=' },
      headers: { 'x-amz-checksum-crc32': 'AAAAAA==' },
    };
    expect(ours(request, 'token')).toBe(await theirs(request, 'token'));
  });

  it('take a new key with day or credentials', () => {
    const signer = new Signer('us-east-1');
    const request = { method: 'GET', path: '/', query: '', host: 'h', amzHeaders: [] };
    const today = signer.sign(request, CREDENTIALS, NOW).at(-1);
    const tomorrow = signer.sign(request, CREDENTIALS, NOW + 86_400_000).at(-1);
    const rotated = signer.sign(request, { ...CREDENTIALS, secretAccessKey: 'other' }, NOW).at(-1);
    expect(new Set([today, tomorrow, rotated]).size).toBe(3);
    expect(signer.sign(request, CREDENTIALS, NOW).at(-1)).toBe(today);
  });
});
