/** The three servers of a region as `npm start` joins them: S3 and all else, SageMaker, EC2. */
import { mkdtemp, rm } from 'node:fs/promises';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { projectPython, startTestEmulator, TEST_KEY } from '../../../../test/support/emulator.ts';
import { startLocalSageMaker } from '../../../sagemaker/server.ts';
import { startLocalMarket } from '../../../spot-market/spot-market.ts';

export const SERVERS = ['aws', 'sageMaker', 'ec2'] as const;
export type ServerName = (typeof SERVERS)[number];

export interface Servers {
  readonly urls: Readonly<Record<ServerName, string>>;
  stop(): Promise<void>;
}

export async function startServers(): Promise<Servers> {
  const folder = await mkdtemp(path.join(os.tmpdir(), 'tidewheel-access-'));
  const emulator = await startTestEmulator();
  const common = { credentials: TEST_KEY, awsEndpointUrl: emulator.url };
  const market = await startLocalMarket(common);
  const sageMaker = await startLocalSageMaker({
    ...common,
    port: 0,
    stateDirectory: folder,
    region: 'us-east-1',
    accountId: '000000000000',
    market: market.market,
    pythonPath: projectPython(),
    subnetZone: async () => 'use1-az1',
  });
  return {
    urls: { aws: emulator.url, sageMaker: sageMaker.url, ec2: market.url },
    stop: async () => {
      await sageMaker.close();
      await market.close();
      await emulator.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

export interface Answer {
  readonly status: number;
  readonly headers: http.IncomingHttpHeaders;
  readonly text: string;
}

export interface Asking {
  readonly method?: string;
  /** `host` too, which fetch would not let a test choose. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
}

export function ask(address: string, { method = 'GET', headers = {}, body }: Asking = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = http.request(address, { method, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text: Buffer.concat(chunks).toString(),
        }),
      );
    });
    request.on('error', reject);
    request.end(body);
  });
}

/** Requests that each server answers with 200 when they are signed. */
export const GOOD: Readonly<
  Record<ServerName, Asking & { readonly service: string; readonly method: 'GET' | 'POST' }>
> = {
  aws: { service: 's3', method: 'GET' },
  sageMaker: {
    service: 'sagemaker',
    method: 'POST',
    headers: {
      'content-type': 'application/x-amz-json-1.1',
      'x-amz-target': 'SageMaker.ListTrainingJobs',
    },
    body: '{}',
  },
  ec2: {
    service: 'ec2',
    method: 'POST',
    headers: { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' },
    body: 'Action=DescribeAvailabilityZones&Version=2016-11-15',
  },
};
