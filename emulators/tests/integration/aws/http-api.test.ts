/** An HTTP API: its address, and its answer in an account with one concurrent execution. */
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CloudFormationClient,
  CreateStackCommand,
  DescribeStacksCommand,
} from '@aws-sdk/client-cloudformation';
import { beforeAll, expect, it } from 'vitest';
import { clientConfiguration, TEST_KEY } from '../../../../test/support/emulator.ts';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';
import { signedFetch } from '../../../../test/support/signed-fetch.ts';
import { apiClient } from '../../../region/api-client.ts';
import { createFunction } from './lambda.ts';

const HOLD_MILLISECONDS = 1_500;
const CODE = `export const handler = async ({ rawPath }) => {
  if (rawPath === '/hold') await new Promise((resolve) => setTimeout(resolve, ${HOLD_MILLISECONDS}));
  return { statusCode: 200, body: rawPath };
};`;

const templateOf = (functionArn: string): string =>
  JSON.stringify({
    Resources: {
      Api: { Type: 'AWS::ApiGatewayV2::Api', Properties: { Name: 'api', ProtocolType: 'HTTP' } },
      Integration: {
        Type: 'AWS::ApiGatewayV2::Integration',
        Properties: {
          ApiId: { Ref: 'Api' },
          IntegrationType: 'AWS_PROXY',
          IntegrationUri: functionArn,
          PayloadFormatVersion: '2.0',
        },
      },
      Route: {
        Type: 'AWS::ApiGatewayV2::Route',
        Properties: {
          ApiId: { Ref: 'Api' },
          RouteKey: 'GET /{name}',
          AuthorizationType: 'AWS_IAM',
          Target: { 'Fn::Sub': 'integrations/${Integration}' },
        },
      },
      Stage: {
        Type: 'AWS::ApiGatewayV2::Stage',
        Properties: { ApiId: { Ref: 'Api' }, StageName: '$default', AutoDeploy: true },
      },
    },
    Outputs: { Address: { Value: { 'Fn::GetAtt': ['Api', 'ApiEndpoint'] } } },
  });

const emulator = emulatorOfSuite({ concurrentExecutions: 1 });
let address: string;

beforeAll(async () => {
  const cloudFormation = new CloudFormationClient(clientConfiguration(emulator.url));
  const TemplateBody = templateOf(await createFunction(emulator.url, 'answers', CODE));
  await cloudFormation.send(new CreateStackCommand({ StackName: 'api', TemplateBody }));
  address = await addressOf(cloudFormation);
});

async function addressOf(cloudFormation: CloudFormationClient): Promise<string> {
  for (;;) {
    const { Stacks } = await cloudFormation.send(new DescribeStacksCommand({ StackName: 'api' }));
    const [stack] = Stacks ?? [];
    const value = stack?.Outputs?.[0]?.OutputValue;
    if (value !== undefined) return value;
    if (stack?.StackStatus?.includes('ROLLBACK')) throw new Error(stack.StackStatusReason);
    await sleep(50);
  }
}

const get = (path: string) => signedFetch(address + path, { service: 'execute-api' });

it('has an address of numbers, which every client resolves', async () => {
  expect(address).toMatch(new RegExp(`^${emulator.url}/_aws/execute-api/[0-9a-f]+$`));
  const answer = await get('/hello');
  expect({ status: answer.status, text: await answer.text() }).toEqual({ status: 200, text: '/hello' });
});

it('is closed to calls without a signature', async () => {
  expect((await fetch(`${address}/hello`)).status).toBe(403);
});

it('answers the project’s own client, query and all', async () => {
  const stack = { apiUrl: address, bucket: '', table: '', stateMachineArn: '' };
  const api = apiClient({ credentials: TEST_KEY, stack });
  expect(await api.call('GET', '/hello?limit=2&nextToken=a%2Fb%3D')).toEqual({
    status: 200,
    body: '/hello',
  });
  expect((await api.callUnsigned('GET', '/hello')).status).toBe(403);
});

it('answers an overload as API Gateway, with Retry-After', async () => {
  const held = get('/hold');
  await sleep(HOLD_MILLISECONDS / 3);
  const answer = await get('/hello');
  expect(answer.status).toBe(429);
  expect(answer.headers.get('retry-after')).toBe('1');
  expect(await answer.json()).toEqual({ message: 'Too Many Requests' });
  expect((await held).status).toBe(200);
});
