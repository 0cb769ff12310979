/** The line that makes a shell's AWS clients go to the region. */
import { execFileSync } from 'node:child_process';
import { stripVTControlCharacters } from 'node:util';
import { expect, it } from 'vitest';
import { regionDocument, whereToLook } from '../../../cli/show/where-to-look.ts';

const REGION = {
  endpoints: {
    aws: 'http://127.0.0.1:4566',
    sageMaker: 'http://127.0.0.1:4567',
    ec2: 'http://127.0.0.1:4568',
  },
  credentials: { accessKeyId: 'LOCALKEY', secretAccessKey: 'secret' },
  stack: {
    bucket: 'data',
    table: 'table',
    apiUrl: 'http://127.0.0.1:4566/_aws/execute-api/ab',
    stateMachineArn: 'arn',
  },
};

const shown = (kind: 'demo' | 'calm') => ({ state: '/state', market: { kind }, pageAddress: undefined });

it('says that the usual market interrupts', () => {
  const linesOf = (kind: 'demo' | 'calm'): string => whereToLook(REGION, shown(kind)).join('\n');
  expect(linesOf('demo')).toContain('takes the Spot capacity of each run once, after its first checkpoints');
  expect(linesOf('calm')).not.toContain('takes');
});

it('sets the region and unsets credentials of the shell', () => {
  const line = whereToLook(REGION, shown('demo')).find((each) => each.includes('for a shell')) ?? '';
  const command = stripVTControlCharacters(line).replace(/^ *for a shell */, '');
  const env = {
    PATH: process.env['PATH'],
    AWS_PROFILE: 'prod',
    AWS_SESSION_TOKEN: 'real',
    AWS_ACCESS_KEY_ID: 'AKIA',
  };
  const printed = execFileSync('sh', ['-c', `${command}; env`], { env, encoding: 'utf8' });
  const seen = Object.fromEntries(printed.split('\n').map((each) => each.split(/=(.*)/s, 2)));
  expect(seen).toMatchObject({
    AWS_ACCESS_KEY_ID: 'LOCALKEY',
    AWS_SECRET_ACCESS_KEY: 'secret',
    AWS_ENDPOINT_URL: 'http://127.0.0.1:4566',
    AWS_REGION: 'us-east-1',
    TIDEWHEEL_TABLE: 'table',
    API_URL: 'http://127.0.0.1:4566/_aws/execute-api/ab',
  });
  expect(seen).not.toHaveProperty('AWS_PROFILE');
  expect(seen).not.toHaveProperty('AWS_SESSION_TOKEN');
});

it('gives a program what a shell would set', () => {
  expect(regionDocument(REGION, '/state', 'http://127.0.0.1:4580/?token=x')).toMatchObject({
    apiUrl: REGION.stack.apiUrl,
    bucket: 'data',
    page: 'http://127.0.0.1:4580/?token=x',
    endpoints: REGION.endpoints,
    dropFolder: '/state/drop',
    environment: { AWS_ACCESS_KEY_ID: 'LOCALKEY', AWS_ENDPOINT_URL: REGION.endpoints.aws },
  });
});
