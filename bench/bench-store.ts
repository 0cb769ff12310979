/** Opens our data path to the made-up S3, which takes any key. */
import { type OpenOptions, type OpenStore, openBlobStore } from '../functions/aws/s3/open-store.ts';

const BENCH_REGION = 'us-east-1';
const BENCH_KEY = { accessKeyId: 'bench', secretAccessKey: 'bench' } as const;

/** By default the bucket `bench` at the server that the environment names. */
export const openBenchStore = (options: Partial<OpenOptions> = {}): Promise<OpenStore> =>
  openBlobStore({
    bucket: 'bench',
    region: BENCH_REGION,
    credentials: () => Promise.resolve(BENCH_KEY),
    ...options,
  });
