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

/**
 * Why the bucket cannot be reached, or undefined. Sockets go straight to S3: a proxy that the environment names would be
 * passed by, and a network that needs one would let every request wait until its time limit.
 * @param environment as a shell has it: HTTPS_PROXY and NO_PROXY, in capitals or not
 */
export function proxyProblem(
  host: string,
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const named = (name: string): string => environment[name] ?? environment[name.toLowerCase()] ?? '';
  const proxy = named('HTTPS_PROXY') || named('ALL_PROXY');
  const direct = named('NO_PROXY')
    .split(',')
    .map((entry) => entry.trim().replace(/^\*?\./, ''))
    .filter((entry) => entry !== '');
  const isDirect = direct.some((entry) => entry === '*' || host === entry || host.endsWith(`.${entry}`));
  if (proxy === '' || isDirect) return undefined;
  return (
    `HTTPS_PROXY is set, and Tidewheel reaches S3 without a proxy: add "${host.split('.').slice(-2).join('.')}" to NO_PROXY if ` +
    'this machine may reach S3 directly, or run the command where it may, such as AWS CloudShell'
  );
}
