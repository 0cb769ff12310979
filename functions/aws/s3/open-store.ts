/** Puts the fast data path together from the environment: region, endpoint and credentials as the SDK finds them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { S3Client } from '@aws-sdk/client-s3';
import { S3BlobStore } from './blob-store.ts';
import { bucketAddress } from './endpoint.ts';
import { Requester, type World } from './requester.ts';
import type { RetryPolicy } from './retry.ts';
import type { S3Credentials } from './sigv4.ts';
import { openTransport } from './transport.ts';

export interface OpenOptions {
  readonly bucket: string;
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  /** Default: the SDK's own chain (environment, container, instance, profile), cached until shortly before it ends. */
  readonly credentials?: (() => Promise<S3Credentials>) | undefined;
  readonly connections?: number | undefined;
  readonly silenceMilliseconds?: number | undefined;
  readonly retry?: RetryPolicy | undefined;
  readonly world?: World | undefined;
}

export const realWorld: World = {
  now: () => Date.now(),
  random: () => Math.random(),
  sleep: async (milliseconds) => {
    await sleep(milliseconds);
  },
};

/** The SDK knows where credentials come from and when they end; its cache is asked for every request. */
function sdkCredentials(client: S3Client): (refresh: boolean) => Promise<S3Credentials> {
  return (refresh) => client.config.credentials(refresh ? { forceRefresh: true } : {});
}

export interface OpenStore extends AsyncDisposable {
  readonly store: S3BlobStore;
}

/** Opens the bucket; dispose of it to close its sockets. */
export async function openBlobStore(options: OpenOptions): Promise<OpenStore> {
  const environment = process.env;
  const client = new S3Client(options.region === undefined ? {} : { region: options.region });
  const region = await client.config.region();
  const endpoint = options.endpoint ?? environment['AWS_ENDPOINT_URL_S3'] ?? environment['AWS_ENDPOINT_URL'];
  const dualStack = environment['AWS_USE_DUALSTACK_ENDPOINT'] === 'true';
  const address = bucketAddress({ bucket: options.bucket, region, endpoint, dualStack });
  const transport = openTransport({
    origin: address.origin,
    connections: options.connections ?? 64,
    silenceMilliseconds: options.silenceMilliseconds ?? 15_000,
  });
  const { credentials } = options;
  const requester = new Requester({
    address,
    region,
    credentials: credentials === undefined ? sdkCredentials(client) : () => credentials(),
    transport,
    world: options.world ?? realWorld,
    retry: options.retry,
  });
  return {
    store: new S3BlobStore(options.bucket, requester),
    [Symbol.asyncDispose]: async () => {
      client.destroy();
      await transport.close();
    },
  };
}
