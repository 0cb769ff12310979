/** Opens S3's data path with region, endpoint and credentials as the SDK finds them. */
import { setTimeout as sleep } from 'node:timers/promises';
import { defaultProvider } from '@aws-sdk/credential-provider-node';
import { loadConfig, NODE_REGION_CONFIG_FILE_OPTIONS, NODE_REGION_CONFIG_OPTIONS } from '@smithy/core/config';
import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { once } from '@tidewheel/kit/once.ts';
import { config } from '../shared/config.ts';
import { S3BlobStore } from './blob-store.ts';
import { bucketAddress, proxyProblem } from './endpoint.ts';
import { HedgedTransport } from './hedge.ts';
import { HttpTransport } from './http-transport.ts';
import { s3ObjectStore } from './object-store.ts';
import { Pacer } from './pacer.ts';
import { Requester, type RetryPolicy, type World } from './requester.ts';
import type { S3Credentials } from './sigv4.ts';

export interface OpenOptions {
  readonly bucket: string;
  readonly region?: string | undefined;
  readonly endpoint?: string | undefined;
  /** Default: the SDK's own chain (environment, container, instance, profile), cached until shortly before it ends. */
  readonly credentials?: (() => Promise<S3Credentials>) | undefined;
  readonly silenceMilliseconds?: number | undefined;
  readonly retry?: RetryPolicy | undefined;
}

const world: World = {
  now: () => Date.now(),
  random: () => Math.random(),
  sleep: async (milliseconds) => {
    await sleep(milliseconds);
  },
};

const after = (milliseconds: number, call: () => void): (() => void) => {
  const timer = setTimeout(call, milliseconds);
  return () => clearTimeout(timer);
};

/** For the reads that a packing has in flight, and its writes. */
const CONNECTIONS = 80;

interface Surroundings {
  readonly region: string;
  readonly credentials: (refresh: boolean) => Promise<S3Credentials>;
}

/** Without the SDK's S3 client: it costs 0.3 s, 60 MB and 95 KB of each bundle. */
async function surroundingsOf({ region, credentials }: OpenOptions): Promise<Surroundings> {
  const chain = defaultProvider();
  return {
    region: region ?? (await loadConfig(NODE_REGION_CONFIG_OPTIONS, NODE_REGION_CONFIG_FILE_OPTIONS)()),
    credentials: credentials ?? ((refresh) => chain(refresh ? { forceRefresh: true } : {})),
  };
}

export interface OpenStore extends AsyncDisposable {
  readonly store: S3BlobStore;
}

/** Opens the bucket; dispose of it to close its sockets. */
export async function openBlobStore(options: OpenOptions): Promise<OpenStore> {
  const environment = process.env;
  const { region, credentials } = await surroundingsOf(options);
  const endpoint = options.endpoint ?? environment['AWS_ENDPOINT_URL_S3'] ?? environment['AWS_ENDPOINT_URL'];
  const dualStack = environment['AWS_USE_DUALSTACK_ENDPOINT'] === 'true';
  const address = bucketAddress({ bucket: options.bucket, region, endpoint, dualStack });
  const problem = endpoint === undefined ? proxyProblem(address.host, environment) : undefined;
  if (problem !== undefined) throw new ConfigurationError(problem);
  const sockets = new HttpTransport({
    origin: address.origin,
    connections: CONNECTIONS,
    silenceMilliseconds: options.silenceMilliseconds ?? 15_000,
  });
  const transport = new HedgedTransport(sockets, { now: () => world.now(), after });
  const requester = new Requester({
    address,
    region,
    credentials,
    transport,
    world,
    pacer: new Pacer(() => world.now()),
    retry: options.retry,
  });
  return {
    store: new S3BlobStore(options.bucket, requester),
    [Symbol.asyncDispose]: () => transport.close(),
  };
}

/** That of the deployment's bucket, one a process: sockets and credentials outlive an invocation. */
export const dataPath = /* @__PURE__ */ once(() => openBlobStore({ bucket: config.bucket() }));

/** Four tries, as the SDK's clients have: ten would keep a waiting caller for half a minute. */
export const CONTROL_RETRY: RetryPolicy = { attempts: 4, baseMilliseconds: 100, maximumMilliseconds: 20_000 };

/** The small objects of the bucket. */
export const openObjectStore = (options: OpenOptions): ObjectStore =>
  s3ObjectStore(
    once(async () => (await openBlobStore({ retry: CONTROL_RETRY, ...options })).store),
    options.bucket,
  );

/** The region of any bucket, where S3 names it. Rejects if there is no such bucket or it may not be used. */
export async function regionOfBucket(bucket: string, region: string): Promise<string | undefined> {
  await using opened = await openBlobStore({ bucket, region, retry: CONTROL_RETRY });
  return await opened.store.region();
}
