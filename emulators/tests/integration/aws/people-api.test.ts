/** The API for people in the emulator: tokens of an issuer on loopback, as API Gateway takes them. */
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { createRequire } from 'node:module';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  CloudFormationClient,
  CreateStackCommand,
  DescribeStacksCommand,
} from '@aws-sdk/client-cloudformation';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { httpEvent, requestIn } from '../../../../functions/api/http-event.ts';
import { clientConfiguration } from '../../../../test/support/emulator.ts';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';
import { CLIENT, type OidcIssuer, startOidcIssuer } from '../../../../test/support/oidc-issuer.ts';
import { createFunction } from './lambda.ts';

interface Template {
  readonly Resources: Readonly<Record<string, unknown>>;
  readonly Outputs: Readonly<Record<string, unknown>>;
}
const { addPeopleApi }: { addPeopleApi: (template: Template, options: object) => Template } = createRequire(
  import.meta.url,
)('../../../../serverless/people-api.cjs');

const ECHO = 'export const handler = async (event) => ({ statusCode: 200, body: JSON.stringify(event) });';

/** As osls writes it. */
const templateOf = (functionArn: string): Template => ({
  Resources: {
    HttpApi: { Type: 'AWS::ApiGatewayV2::Api', Properties: { Name: 'api', ProtocolType: 'HTTP' } },
    HttpApiIntegrationApi: {
      Type: 'AWS::ApiGatewayV2::Integration',
      Properties: {
        ApiId: { Ref: 'HttpApi' },
        IntegrationType: 'AWS_PROXY',
        IntegrationUri: functionArn,
        PayloadFormatVersion: '2.0',
      },
    },
    HttpApiRouteGetRunsRunid: {
      Type: 'AWS::ApiGatewayV2::Route',
      Properties: {
        ApiId: { Ref: 'HttpApi' },
        RouteKey: 'GET /runs/{runId}',
        AuthorizationType: 'AWS_IAM',
        Target: { 'Fn::Join': ['/', ['integrations', { Ref: 'HttpApiIntegrationApi' }]] },
      },
      DependsOn: 'HttpApiIntegrationApi',
    },
    HttpApiStage: {
      Type: 'AWS::ApiGatewayV2::Stage',
      Properties: { ApiId: { Ref: 'HttpApi' }, StageName: '$default', AutoDeploy: true },
    },
  },
  Outputs: { ApiUrl: { Value: { 'Fn::GetAtt': ['HttpApi', 'ApiEndpoint'] } } },
});

const others = generateKeyPairSync('rsa', { modulusLength: 2048 });

const emulator = emulatorOfSuite();
let issuer: OidcIssuer;
let address: string;
/** Of the API for IAM callers. */
let signedAddress: string;

beforeAll(async () => {
  issuer = await startOidcIssuer();
  const template = templateOf(await createFunction(emulator.url, 'echo', ECHO));
  const made = addPeopleApi(template, { issuer: issuer.url, audience: `other, ${CLIENT}` });
  const outputs = await deployed(made);
  address = outputs.get('PeopleApiUrl') ?? '';
  signedAddress = outputs.get('ApiUrl') ?? '';
});
afterAll(async () => {
  issuer?.stop();
});

/** @returns the outputs */
async function deployed(template: Template): Promise<ReadonlyMap<string, string>> {
  const cloudFormation = new CloudFormationClient(clientConfiguration(emulator.url));
  const request = { StackName: 'people', TemplateBody: JSON.stringify(template) };
  await cloudFormation.send(new CreateStackCommand(request));
  for (;;) {
    const { Stacks } = await cloudFormation.send(new DescribeStacksCommand({ StackName: 'people' }));
    const [stack] = Stacks ?? [];
    if (stack?.StackStatus?.includes('ROLLBACK')) throw new Error(stack.StackStatusReason);
    if (stack?.StackStatus === 'CREATE_COMPLETE')
      return new Map(stack.Outputs?.map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]));
    await sleep(50);
  }
}

const token = (claims: object, privateKey?: KeyObject): string => issuer.token(claims, privateKey);

const get = (bearer?: string, at = address) =>
  fetch(`${at}/runs/digits-000001`, {
    headers: bearer === undefined ? {} : { authorization: `Bearer ${bearer}` },
  });

it('gives the function the claims of a token', async () => {
  const answer = await get(token({ email: 'ada@example.org', groups: ['ml'] }));
  expect(answer.status).toBe(200);
  expect(requestIn(httpEvent.parse(await answer.json()))).toMatchObject({
    route: 'GET /runs/{runId}',
    parameters: { runId: 'digits-000001' },
    caller: 'ada@example.org (1)',
    claims: { groups: '[ml]' },
  });
});

it('is closed to calls without a token', async () => {
  expect((await get()).status).toBe(401);
});

it.each([
  ['another key', () => token({}, others.privateKey)],
  ['another audience', () => token({ aud: 'others' })],
  ['another issuer', () => token({ iss: 'https://id.example.org' })],
  ['a time that is over', () => token({ exp: 1 })],
])('is closed to a token of %s', async (_, made) => {
  expect((await get(made())).status).toBe(401);
});

it('leaves the API of IAM callers closed to tokens', async () => {
  expect((await get(token({}), signedAddress)).ok).toBe(false);
});
