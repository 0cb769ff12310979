import { createHash } from 'node:crypto';
import { crc32c, crc32ToBase64, keptSum, sumOf } from '@tidewheel/packing/checksums.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { S3BlobStore } from '../../../../functions/aws/s3/blob-store.ts';
import type { Answer } from '../../../../functions/aws/s3/http-transport.ts';
import { Requester } from '../../../../functions/aws/s3/requester.ts';

const ETAG = 'abc-3';
const sha256 = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('base64');
const ALGORITHMS = {
  CRC32: (bytes: Uint8Array) => sumOf('crc32', bytes),
  CRC32C: (bytes: Uint8Array) => crc32ToBase64(crc32c(bytes)),
  SHA256: sha256,
} as const;
type Algorithm = keyof typeof ALGORITHMS;

/** An object that came in parts, and what S3 says of it, with two parts on a page. */
class Uploaded {
  readonly body: Buffer;
  readonly #algorithm: Algorithm;
  readonly #parts: readonly Uint8Array[];
  etag = ETAG;
  refusal = 0;
  tellsSums = true;

  constructor(parts: readonly Uint8Array[], algorithm: Algorithm = 'CRC32') {
    this.#parts = parts;
    this.#algorithm = algorithm;
    this.body = Buffer.concat(parts);
  }

  get #sums(): string[] {
    return this.#parts.map((part) => ALGORITHMS[this.#algorithm](part));
  }

  head(): Partial<Answer> {
    const composed = ALGORITHMS[this.#algorithm](
      Buffer.concat(this.#sums.map((sum) => Buffer.from(sum, 'base64'))),
    );
    const name = `x-amz-checksum-${this.#algorithm.toLowerCase()}`;
    const headers = { [name]: `${composed}-${this.#parts.length}`, 'x-amz-checksum-type': 'COMPOSITE' };
    return { headers: { 'content-length': String(this.body.length), etag: ETAG, ...headers } };
  }

  attributes(after: number): Partial<Answer> {
    if (this.refusal > 0) return { status: this.refusal, ...xml('<Error><Code>Refused</Code></Error>') };
    const sumName = `Checksum${this.#algorithm}`;
    const parts = this.#parts.map((part, index) => {
      const sum = this.tellsSums ? `<${sumName}>${this.#sums[index]}</${sumName}>` : '';
      return `<Part><PartNumber>${index + 1}</PartNumber><Size>${part.length}</Size>${sum}</Part>`;
    });
    const page = parts.slice(after, after + 2);
    const next = after + page.length;
    const ends = `<IsTruncated>${next < parts.length}</IsTruncated><NextPartNumberMarker>${next}</NextPartNumberMarker>`;
    return xml(
      `<GetObjectAttributesResponse><ETag>${this.etag}</ETag><ObjectParts>${page.join('')}${ends}</ObjectParts></GetObjectAttributesResponse>`,
    );
  }
}

const xml = (text: string) => ({ chunks: [Buffer.from(text)], size: Buffer.byteLength(text) });

function storeOf(uploaded: Uploaded): S3BlobStore {
  const requester = new Requester({
    address: { origin: 'https://h', host: 'h', basePath: '' },
    region: 'us-east-1',
    credentials: () => Promise.resolve({ accessKeyId: 'a', secretAccessKey: 's' }),
    transport: {
      dispatch: ({ method, headers }, receiver) => {
        const marker = headers[headers.indexOf('x-amz-part-number-marker') + 1];
        const said = method === 'HEAD' ? uploaded.head() : uploaded.attributes(Number(marker));
        receiver.answered({ status: 200, headers: {}, chunks: [], size: 0, ...said });
      },
      close: () => Promise.resolve(),
    },
    world: { now: () => 0, random: () => 1, sleep: () => Promise.resolve() },
  });
  return new S3BlobStore('bucket', requester);
}

const PARTS = [Buffer.from('first part'), Buffer.from('second'), Buffer.from('3')];

describe('a composite checksum', () => {
  it('finds any change of any bytes', async () => {
    const parts = fc.array(fc.uint8Array({ maxLength: 40 }), { minLength: 2, maxLength: 7 });
    const algorithm = fc.constantFrom(...(Object.keys(ALGORITHMS) as Algorithm[]));
    await fc.assert(
      fc.asyncProperty(parts, algorithm, fc.nat(), fc.nat(), async (all, kind, cut, flip) => {
        const uploaded = new Uploaded(all, kind);
        const { body } = uploaded;
        const verdict = async (bytes: Buffer): Promise<boolean | undefined> => {
          const check = await storeOf(uploaded).wholeCheck('key', ETAG);
          const at = cut % (bytes.length + 1);
          for (const chunk of [bytes.subarray(0, at), bytes.subarray(at)]) check?.add(chunk);
          return check?.isIntact();
        };
        expect(await verdict(body)).toBe(true);
        expect(await verdict(Buffer.concat([body, Buffer.of(0)]))).toBe(false);
        if (body.length === 0) return;
        const changed = Buffer.from(body);
        const place = flip % body.length;
        changed.writeUInt8(changed.readUInt8(place) ^ 1, place);
        expect(await verdict(changed)).toBe(false);
        expect(await verdict(body.subarray(0, -1))).toBe(false);
      }),
      { numRuns: 60 },
    );
  });

  it.each(['crc32', 'crc32c'] as const)('gives that of the whole (%s)', async (kind) => {
    const uploaded = new Uploaded(PARTS, kind === 'crc32' ? 'CRC32' : 'CRC32C');
    const check = await storeOf(uploaded).wholeCheck('key', ETAG);
    expect(check?.sums).toEqual(keptSum({ kind, base64: sumOf(kind, uploaded.body) }));
  });

  it.each([
    ['another version', { etag: 'def-3' }],
    ['no permission', { refusal: 403 }],
    ['a server without the request', { refusal: 501 }],
    ['no sums of parts', { tellsSums: false }],
  ])('says nothing with %s', async (_, change) => {
    const uploaded = Object.assign(new Uploaded(PARTS), change);
    expect(await storeOf(uploaded).wholeCheck('key', ETAG)).toBeUndefined();
  });

  it('of one part needs no sizes', async () => {
    const uploaded = Object.assign(new Uploaded([Buffer.from('alone')]), { refusal: 403 });
    const check = await storeOf(uploaded).wholeCheck('key', ETAG);
    check?.add(Buffer.from('alone'));
    expect(check?.isIntact()).toBe(true);
  });
});
