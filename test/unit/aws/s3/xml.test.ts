import { describe, expect, it } from 'vitest';
import {
  deleteXml,
  elementText,
  isWholeListing,
  parseDeletion,
  parseListing,
} from '../../../../functions/aws/s3/xml.ts';

const listing = (inner: string) =>
  `<?xml version="1.0"?><ListBucketResult xmlns="x"><EncodingType>url</EncodingType>${inner}</ListBucketResult>`;
const entry = (key: string) =>
  `<Contents><Key>${key}</Key><LastModified>t</LastModified><ETag>&quot;abc&quot;</ETag><Size>7</Size></Contents>`;

describe('a listing', () => {
  it('decodes keys with blanks as plus or percent', () => {
    const { objects } = parseListing(listing(entry('a+b%20c%2Bd') + entry('%F0%9F%98%80')));
    expect(objects.map(({ key }) => key)).toEqual(['a b c+d', '😀']);
    expect(objects[0]).toMatchObject({ size: 7, etag: 'abc' });
  });

  it('names the next page only when it is cut', () => {
    expect(parseListing(listing('<IsTruncated>false</IsTruncated>')).next).toBeUndefined();
    const cut = listing(
      '<IsTruncated>true</IsTruncated><NextContinuationToken>t&amp;k</NextContinuationToken>',
    );
    expect(parseListing(cut).next).toBe('t&k');
  });

  it('refuses a listing that breaks off', () => {
    expect(() => parseListing(listing('<Contents><Key>a</Key>'))).toThrow(/middle of an entry/);
    expect(() => parseListing(listing('<IsTruncated>true</IsTruncated>'))).toThrow(/no continuation/);
  });

  it('is whole only with its end and its continuation', () => {
    const whole = listing('<IsTruncated>false</IsTruncated>');
    expect(isWholeListing(`${whole}\n`)).toBe(true);
    expect(isWholeListing(whole.slice(0, -3))).toBe(false);
    expect(isWholeListing(listing('<IsTruncated>true</IsTruncated>'))).toBe(false);
  });

  it('is not whole without the keys it counts', () => {
    const prefix = '<CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes>';
    const counted = (count: number, inner: string) => listing(`<KeyCount>${count}</KeyCount>${inner}`);
    expect(isWholeListing(counted(0, ''))).toBe(true);
    expect(isWholeListing(counted(3, entry('a') + entry('b') + prefix))).toBe(true);
    expect(isWholeListing(counted(2, ''))).toBe(false);
    expect(isWholeListing(counted(3, entry('a') + prefix))).toBe(false);
    expect(isWholeListing(counted(1, entry('a') + entry('b')))).toBe(false);
  });

  it('accepts a count of keys without prefixes', () => {
    const prefixes = '<CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes>';
    expect(isWholeListing(listing(`<KeyCount>1</KeyCount>${entry('a')}${prefixes}`))).toBe(true);
  });

  it('says what is archived and not restored', () => {
    const stored = (inner: string) => entry('k').replace('</Contents>', `${inner}</Contents>`);
    const cold = '<StorageClass>DEEP_ARCHIVE</StorageClass>';
    const restore = (inner: string) => `${cold}<RestoreStatus>${inner}</RestoreStatus>`;
    const until = '<RestoreExpiryDate>2026-12-01T00:00:00.000Z</RestoreExpiryDate>';
    const { objects } = parseListing(
      listing(
        [
          stored(cold),
          stored(restore('<IsRestoreInProgress>true</IsRestoreInProgress>')),
          stored(restore(`<IsRestoreInProgress>false</IsRestoreInProgress>${until}`)),
          stored('<StorageClass>GLACIER_IR</StorageClass>'),
        ].join(''),
      ),
    );
    expect(objects.map(({ archived = false }) => archived)).toEqual([true, true, false, false]);
  });

  it('resolves numeric entities', () => {
    expect(elementText('<Key>&#x41;&#66;&lt;&unknown;</Key>', 'Key')).toBe('AB<&unknown;');
  });
});

describe('a deletion of many keys', () => {
  it('writes every key readably', () => {
    expect(deleteXml(['a&<b>"', 'line\r\n\tend'])).toContain(
      '<Object><Key>a&amp;&lt;b&gt;&quot;</Key></Object><Object><Key>line&#13;&#10;&#9;end</Key></Object><Quiet>true',
    );
  });

  it('names the keys that remain', () => {
    const error = (key: string) =>
      `<Error><Key>${key}</Key><Code>AccessDenied</Code><Message>no &lt;way&gt;</Message></Error>`;
    const answer = `<DeleteResult xmlns="x">${error('a&amp;b')}${error('c')}</DeleteResult>\n`;
    const failed = { code: 'AccessDenied', message: 'no <way>' };
    expect(parseDeletion(answer)).toEqual([
      { key: 'a&b', ...failed },
      { key: 'c', ...failed },
    ]);
    expect(parseDeletion('<?xml version="1.0"?><DeleteResult xmlns="x"/>')).toEqual([]);
    expect(parseDeletion(answer.slice(0, 60))).toBeUndefined();
  });
});
