/** A region answers its own access key only: what another region's client sends is refused as AWS refuses it. */
import { execFile } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, describe, expect, it } from 'vitest';
import { projectPython, TEST_KEY } from '../../../../test/support/emulator.ts';
import { signedHeaders } from '../../../../test/support/signed-fetch.ts';
import { type AccessKey, keyVariables } from '../../../access/access-key.ts';
import { createFunction, invoke } from '../aws/lambda.ts';
import { type Answer, ask, GOOD, SERVERS, type ServerName, type Servers, startServers } from './servers.ts';

/** Of another region. */
const OTHER_KEY: AccessKey = { accessKeyId: `LOCAL${'B'.repeat(15)}`, secretAccessKey: 'C'.repeat(40) };
let servers: Servers;

beforeAll(async () => {
  servers = await startServers();
  return () => servers.stop();
}, 60_000);

async function send(
  server: ServerName,
  credentials: AccessKey,
  more: Record<string, string> = {},
): Promise<Answer> {
  const url = `${servers.urls[server]}/`;
  const request = { ...GOOD[server], credentials };
  const headers = { ...(await signedHeaders(url, request)), ...more };
  return ask(url, { ...request, headers });
}

const REFUSALS = {
  aws: {
    unsigned: [403, 'AccessDenied'],
    unknown: [403, 'InvalidAccessKeyId'],
    token: [400, 'InvalidToken'],
    mismatch: [403, 'SignatureDoesNotMatch'],
    malformed: [400, 'AuthorizationHeaderMalformed'],
    other: [400, 'InvalidRequest'],
  },
  sageMaker: {
    unsigned: [403, 'MissingAuthenticationTokenException'],
    unknown: [400, 'UnrecognizedClientException'],
    token: [400, 'UnrecognizedClientException'],
    mismatch: [400, 'InvalidSignatureException'],
    malformed: [400, 'IncompleteSignatureException'],
    other: [400, 'IncompleteSignatureException'],
  },
  ec2: {
    unsigned: [400, 'MissingParameter'],
    unknown: [401, 'AuthFailure'],
    token: [401, 'AuthFailure'],
    mismatch: [401, 'AuthFailure'],
    malformed: [401, 'AuthFailure'],
    other: [401, 'AuthFailure'],
  },
} as const;

describe.each(SERVERS)('%s', (server) => {
  const refusal = (kind: keyof (typeof REFUSALS)['aws']) => {
    const [status, code] = REFUSALS[server][kind];
    return { status, text: expect.stringContaining(code) };
  };

  it('answers its own key', async () => {
    expect(await send(server, TEST_KEY)).toMatchObject({ status: 200 });
  });

  it.each([
    OTHER_KEY,
    { ...TEST_KEY, accessKeyId: 'test' },
    { accessKeyId: 'test', secretAccessKey: 'test' },
    { ...TEST_KEY, accessKeyId: '000000000000' },
    { ...TEST_KEY, accessKeyId: TEST_KEY.accessKeyId.toLowerCase() },
  ])('does not know the key $accessKeyId', async (key) => {
    expect(await send(server, key)).toMatchObject(refusal('unknown'));
  });

  it('refuses its own key with another secret', async () => {
    expect(await send(server, { ...TEST_KEY, secretAccessKey: 'guessed' })).toMatchObject(
      refusal('mismatch'),
    );
  });

  it('refuses a signature of another request', async () => {
    const more = { 'x-amz-date': '20260101T000000Z' };
    expect((await send(server, TEST_KEY, more)).status).toBeGreaterThanOrEqual(400);
    const { authorization = '' } = await signedHeaders(`${servers.urls[server]}/other`, GOOD[server]);
    expect(await send(server, TEST_KEY, { authorization })).toMatchObject(refusal('mismatch'));
  });

  it('refuses its own key with a session token', async () => {
    expect(await send(server, TEST_KEY, { 'x-amz-security-token': 'real' })).toMatchObject(refusal('token'));
  });

  it('refuses what is not signed', async () => {
    const { method, headers, body } = GOOD[server];
    const unsigned = { method, ...(headers && { headers }), ...(body !== undefined && { body }) };
    expect(await ask(servers.urls[server], unsigned)).toMatchObject(refusal('unsigned'));
  });

  it.each(['AWS4-HMAC-SHA256 x', 'AWS4-HMAC-SHA256 Credential=/////, SignedHeaders=, Signature='])(
    'refuses the malformed authorization %s',
    async (authorization) => {
      expect((await send(server, TEST_KEY, { authorization })).status).toBeGreaterThanOrEqual(400);
    },
  );

  it('refuses a wrong signature of Version 2', async () => {
    const authorization = `AWS ${TEST_KEY.accessKeyId}:c2lnbmF0dXJl`;
    expect(await send(server, TEST_KEY, { authorization })).toMatchObject(
      refusal(server === 'aws' ? 'mismatch' : 'other'),
    );
  });

  it.each([
    'Bearer x',
    `AWS4-ECDSA-P256-SHA256 Credential=${TEST_KEY.accessKeyId}/20260101/s3/aws4_request, SignedHeaders=host;x-amz-region-set, Signature=00`,
  ])('refuses the authorization %s', async (authorization) => {
    expect(await send(server, TEST_KEY, { authorization })).toMatchObject(refusal('other'));
  });
});

it.each([
  ['sqs', { 'x-amz-target': 'AmazonSQS.ListQueues' }, '{}', 'InvalidClientTokenId'],
  ['dynamodb', { 'x-amz-target': 'DynamoDB_20120810.ListTables' }, '{}', 'UnrecognizedClientException'],
  ['states', { 'x-amz-target': 'AWSStepFunctions.ListActivities' }, '{}', 'UnrecognizedClientException'],
  ['sts', {}, 'Action=GetCallerIdentity&Version=2011-06-15', 'InvalidClientTokenId'],
  ['cloudformation', {}, 'Action=ListStacks&Version=2010-05-15', 'InvalidClientTokenId'],
])('%s refuses another key as AWS words it', async (service, target, body, code) => {
  const url = `${servers.urls.aws}/`;
  const headers = {
    'content-type':
      'x-amz-target' in target ? 'application/x-amz-json-1.0' : 'application/x-www-form-urlencoded',
    ...target,
  };
  const sendWith = async (credentials: AccessKey) => {
    const request = { service, method: 'POST', headers, body } as const;
    return ask(url, { ...request, headers: await signedHeaders(url, { ...request, credentials }) });
  };
  expect(await sendWith(TEST_KEY)).toMatchObject({ status: 200 });
  expect((await sendWith(OTHER_KEY)).text).toContain(code);
});

it('an API takes no authorization that is not signed', async () => {
  const answer = (headers: Record<string, string>) =>
    ask(`${servers.urls.aws}/_aws/execute-api/deadbeef/`, { headers });
  // Whether a route asks for a signature is for the API to say; this one is not there.
  expect((await answer({})).status).toBe(404);
  expect((await answer({ authorization: 'Bearer anything' })).status).toBe(400);
});

it('a function signs with the region’s key', async () => {
  const code = `export const handler = async () => ({
    accessKeyId: process.env.AWS_ACCESS_KEY_ID,
    secretAccessKey: process.env.AWS_SECRET_ACCESS_KEY,
  });`;
  await createFunction(servers.urls.aws, 'key', code);
  expect(await invoke(servers.urls.aws, 'key')).toEqual(TEST_KEY);
});

const PRESIGNED = { get: 200, put: 200, otherKey: 403, form: 204, tamperedForm: 403, formWithOtherKey: 403 };

it('boto3 reads, writes and presigns with it', async () => {
  const script = path.join(import.meta.dirname, 'with_boto3.py');
  const { stdout } = await promisify(execFile)(projectPython(), [script, servers.urls.aws], {
    env: { ...keyVariables(TEST_KEY), AWS_DEFAULT_REGION: 'us-east-1', PATH: process.env['PATH'] },
  });
  expect(JSON.parse(stdout)).toEqual({
    listed: true,
    read: true,
    large: 9_000_000,
    presigned: {
      s3: { isVersion4: false, ...PRESIGNED },
      s3v4: { isVersion4: true, ...PRESIGNED },
    },
    byRole: expect.any(Number),
    forgery: 'InvalidToken',
  });
});
