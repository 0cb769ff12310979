import { describe, expect, it } from 'vitest';
import { bucketAddress, proxyProblem } from '../../../../functions/aws/s3/endpoint.ts';

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

describe('proxyProblem', () => {
  const host = 'data.s3.us-east-1.amazonaws.com';
  const problemOf = (environment: Readonly<Record<string, string>>) => proxyProblem(host, environment);

  it('names a proxy that requests would pass by', () => {
    expect(problemOf({ HTTPS_PROXY: 'http://proxy:3128' })).toContain('add "amazonaws.com" to NO_PROXY');
    expect(problemOf({ https_proxy: 'http://proxy:3128', no_proxy: 'example.org' })).toContain('CloudShell');
  });

  it('is silent where S3 is reached directly', () => {
    const HTTPS_PROXY = 'http://proxy:3128';
    for (const NO_PROXY of ['*', host, '.amazonaws.com', 'example.org, *.amazonaws.com'])
      expect(problemOf({ HTTPS_PROXY, NO_PROXY })).toBeUndefined();
    expect(problemOf({})).toBeUndefined();
    expect(problemOf({ HTTP_PROXY: 'http://proxy:3128' })).toBeUndefined();
  });
});
