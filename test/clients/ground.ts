/** What the clients talk to: an emulator and the local SageMaker, whose hosts run SageMaker's own toolkit. */
import { mkdtemp, rm } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { CreateBucketCommand, HeadObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import { keyVariables } from '@tidewheel/emulators/access/access-key.ts';
import { startEmulator } from '@tidewheel/emulators/aws/ministack.ts';
import { startLocalSageMaker } from '@tidewheel/emulators/sagemaker/server.ts';
import { startLocalMarket } from '@tidewheel/emulators/spot-market/spot-market.ts';
import { projectPython } from './environments/environments.ts';

export const BUCKET = 'client-data';
/** Words in the data: hosts print how many they read. */
export const WORDS = 7;
const ACCOUNT = '000000000000';
const CREDENTIALS = { accessKeyId: `LOCAL${'C'.repeat(15)}`, secretAccessKey: 'D'.repeat(40) };
const REGION = 'us-east-1';

export interface Ground {
  /** All that a client knows of the region; nothing of ours is in its environment. */
  readonly environment: Readonly<Record<string, string>>;
  /** What the servers said. */
  readonly lines: readonly string[];
  /** Bytes of the model at `s3://…`; undefined when there is none. */
  modelBytes(uri: string): Promise<number | undefined>;
  close(): Promise<void>;
}

/** @param imagePython the hosts' Python, whose folder holds the program `train` */
export async function layGround(imagePython: string): Promise<Ground> {
  const lines: string[] = [];
  const log = (line: string): void => void lines.push(line);
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-clients-'));
  const closers: (() => Promise<void>)[] = [() => rm(folder, { recursive: true, force: true })];
  const close = async (): Promise<void> => {
    for (const closer of closers.splice(0).toReversed()) await closer();
  };
  try {
    const emulator = await startEmulator({
      pythonPath: projectPython(),
      credentials: CREDENTIALS,
      stateDirectory: path.join(folder, 'emulator'),
    });
    closers.push(() => emulator.stop());
    const market = await startLocalMarket({
      awsEndpointUrl: emulator.url,
      credentials: CREDENTIALS,
      log,
    });
    closers.push(() => market.close());
    const sageMaker = await startLocalSageMaker({
      port: 0,
      stateDirectory: path.join(folder, 'sagemaker'),
      awsEndpointUrl: emulator.url,
      credentials: CREDENTIALS,
      region: REGION,
      accountId: ACCOUNT,
      market: market.market,
      pythonPath: imagePython,
      subnetZone: async () => 'use1-az1',
      graceSeconds: 10,
      log,
    });
    closers.push(() => sageMaker.close());
    const s3 = await fillBucket(emulator.url);
    closers.push(async () => s3.destroy());
    return {
      lines,
      environment: environmentAt(emulator.url, sageMaker.url, folder),
      modelBytes: (uri) => bytesAt(s3, uri),
      close,
    };
  } catch (error: unknown) {
    await close();
    throw error;
  }
}

async function fillBucket(endpoint: string): Promise<S3Client> {
  const s3 = new S3Client({ endpoint, region: REGION, credentials: CREDENTIALS, forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: BUCKET }));
  const put = (name: string, Body: string) =>
    s3.send(new PutObjectCommand({ Bucket: BUCKET, Key: `data/${name}`, Body }));
  await put('first.txt', 'one two three four');
  await put('second.txt', 'five six seven');
  return s3;
}

/** The standard variables of every AWS client. */
const environmentAt = (aws: string, sageMaker: string, home: string): Record<string, string> => ({
  PATH: '/usr/local/bin:/usr/bin:/bin',
  HOME: home,
  LANG: 'C.UTF-8',
  ...keyVariables(CREDENTIALS),
  AWS_DEFAULT_REGION: REGION,
  AWS_REGION: REGION,
  AWS_ENDPOINT_URL: aws,
  AWS_ENDPOINT_URL_SAGEMAKER: sageMaker,
  AWS_EC2_METADATA_DISABLED: 'true',
  PYTHONUNBUFFERED: '1',
});

async function bytesAt(s3: S3Client, uri: string): Promise<number | undefined> {
  const [Bucket = '', ...key] = uri.replace('s3://', '').split('/');
  try {
    return (await s3.send(new HeadObjectCommand({ Bucket, Key: key.join('/') }))).ContentLength;
  } catch (error: unknown) {
    if (error instanceof Error && error.name === 'NotFound') return undefined;
    throw error;
  }
}
