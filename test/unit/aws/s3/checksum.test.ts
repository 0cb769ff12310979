import { Crc64Nvme } from '@tidewheel/packing/checksums.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isCheckable, isIntact } from '../../../../functions/aws/s3/checksum.ts';

/** Bit by bit, from the definition. */
function slowCrc64(bytes: Uint8Array): string {
  let crc = 0xffff_ffff_ffff_ffffn;
  for (const byte of bytes) {
    crc ^= BigInt(byte);
    for (let bit = 0; bit < 8; bit += 1)
      crc = (crc & 1n) === 0n ? crc >> 1n : (crc >> 1n) ^ 0x9a6c9329ac4bc9b5n;
  }
  return (crc ^ 0xffff_ffff_ffff_ffffn).toString(16).padStart(16, '0');
}

function crc64(chunks: readonly Uint8Array[]): string {
  const crc = new Crc64Nvme();
  for (const chunk of chunks) crc.add(chunk);
  return crc.base64;
}

describe('CRC-64/NVME', () => {
  it('equals the definition for any chunks', () => {
    fc.assert(
      fc.property(fc.array(fc.uint8Array({ maxLength: 60 }), { maxLength: 5 }), (chunks) => {
        expect(Buffer.from(crc64(chunks), 'base64').toString('hex')).toBe(slowCrc64(Buffer.concat(chunks)));
      }),
    );
  });

  it('goes on beyond its window', () => {
    const long = Buffer.alloc(200_003, 'tidewheel');
    expect(crc64([long])).toBe(crc64([long.subarray(0, 65_537), long.subarray(65_537)]));
  });
});

describe('a body', () => {
  const body = Buffer.from('123456789');
  it.each([
    ['x-amz-checksum-crc32', 'y/Q5Jg=='],
    ['x-amz-checksum-crc32c', '4waSgw=='],
    ['x-amz-checksum-crc64nvme', 'rosUhgp5mIg='],
    ['x-amz-checksum-sha1', '98O8HYCOBHMq32eZZczDTKeuNEE='],
    ['x-amz-checksum-sha256', 'FeKw08M4keuw8e9gnsQZQgwg4yDOlMZfvIwzEkSOsiU='],
  ])('is compared with %s', (header, value) => {
    expect(isIntact({ [header]: value }, [body])).toBe(true);
    expect(isIntact({ [header]: value }, [Buffer.from('12345678x')])).toBe(false);
  });

  it('passes without a checksum of the whole', () => {
    expect(isIntact({}, [body])).toBe(true);
    expect(isIntact({ 'x-amz-checksum-crc32': 'AAAAAA==-3' }, [body])).toBe(true);
  });
});

describe('an object without a checksum', () => {
  const body = [Buffer.from('bo'), Buffer.from('dy')];
  const etag = '"841a2d689ad86bd1611447453c22c6fc"';

  it('is compared with the MD5 in its ETag', () => {
    expect(isIntact({ etag }, body)).toBe(true);
    expect(isIntact({ etag, 'x-amz-server-side-encryption': 'AES256' }, [Buffer.from('bodi')])).toBe(false);
  });

  it.each([
    { etag: '"841a2d689ad86bd1611447453c22c6fc-2"' },
    { etag, 'x-amz-server-side-encryption': 'aws:kms' },
    { etag, 'x-amz-server-side-encryption-customer-algorithm': 'AES256' },
    { etag: '"841a2d689ad86bd1611447453c22c6fc-2"', 'x-amz-checksum-crc32': 'AAAAAA==-2' },
  ])('is not checkable with %j', (headers) => {
    expect(isCheckable(headers)).toBe(false);
    expect(isIntact(headers, [Buffer.from('bodi')])).toBe(true);
  });
});
