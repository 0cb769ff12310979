/** Where a bucket is reached: path style at a named endpoint, virtual-host style on AWS. */

export interface BucketAddress {
  /** `https://host[:port]` */
  readonly origin: string;
  /** As sent in the Host header. */
  readonly host: string;
  /** `/bucket` in path style, else empty. */
  readonly basePath: string;
}

export interface AddressOptions {
  readonly bucket: string;
  readonly region: string;
  /** AWS_ENDPOINT_URL_S3 or AWS_ENDPOINT_URL */
  readonly endpoint?: string | undefined;
  /** IPv6 as well as IPv4. */
  readonly dualStack?: boolean | undefined;
}

function partitionSuffix(region: string): string {
  if (region.startsWith('cn-')) return 'amazonaws.com.cn';
  if (region.startsWith('us-isob-')) return 'sc2s.sgov.gov';
  if (region.startsWith('us-iso-')) return 'c2s.ic.gov';
  if (region.startsWith('eusc-')) return 'amazonaws.eu';
  return 'amazonaws.com';
}

/** Dots in a bucket's name do not match the wildcard certificate, so such buckets are reached by path. */
export function bucketAddress(options: AddressOptions): BucketAddress {
  if (options.endpoint !== undefined) {
    const url = new URL(options.endpoint);
    const prefix = url.pathname.replace(/\/+$/, '');
    return { origin: url.origin, host: url.host, basePath: `${prefix}/${options.bucket}` };
  }
  const service = options.dualStack ? 's3.dualstack' : 's3';
  const regional = `${service}.${options.region}.${partitionSuffix(options.region)}`;
  if (options.bucket.includes('.')) {
    return { origin: `https://${regional}`, host: regional, basePath: `/${options.bucket}` };
  }
  const host = `${options.bucket}.${regional}`;
  return { origin: `https://${host}`, host, basePath: '' };
}
