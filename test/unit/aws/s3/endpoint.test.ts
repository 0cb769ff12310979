import { describe, expect, it } from 'vitest';
import { bucketAddress } from '../../../../functions/aws/s3/endpoint.ts';

describe('where a bucket is reached', () => {
  it.each([
    [{ bucket: 'b', region: 'us-east-1' }, 'b.s3.us-east-1.amazonaws.com', ''],
    [{ bucket: 'b', region: 'cn-north-1' }, 'b.s3.cn-north-1.amazonaws.com.cn', ''],
    [{ bucket: 'b', region: 'eu-west-1', dualStack: true }, 'b.s3.dualstack.eu-west-1.amazonaws.com', ''],
    [{ bucket: 'dotted.name', region: 'eu-west-1' }, 's3.eu-west-1.amazonaws.com', '/dotted.name'],
    [{ bucket: 'b', region: 'x', endpoint: 'http://127.0.0.1:4566' }, '127.0.0.1:4566', '/b'],
    [{ bucket: 'b', region: 'x', endpoint: 'https://gateway.example/s3/' }, 'gateway.example', '/s3/b'],
  ])('%o', (options, host, basePath) => {
    expect(bucketAddress(options)).toMatchObject({ host, basePath });
  });
});
