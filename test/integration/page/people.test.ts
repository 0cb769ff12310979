/** The page of a stack with an OIDC issuer, in a real browser: its functions behind API Gateway's routes, in the emulator. */
import { createRequire } from 'node:module';
import {
  CloudFormationClient,
  CreateStackCommand,
  DescribeStacksCommand,
  waitUntilStackCreateComplete,
} from '@aws-sdk/client-cloudformation';
import { AxeBuilder } from '@axe-core/playwright';
import { createFunction } from '@tidewheel/emulators/tests/integration/aws/lambda.ts';
import type { Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../../functions/api/operation-table.ts';
import type { Stores } from '../../../functions/records/stores.ts';
import { startBrowser, type TestBrowser } from '../../support/browser.ts';
import { attemptOf, runOf } from '../../support/builders/records.ts';
import { bundledFunction } from '../../support/bundled-function.ts';
import { clientConfiguration } from '../../support/emulator.ts';
import { emulatorOfSuite } from '../../support/emulator-of-suite.ts';
import { CLIENT, type OidcIssuer, startOidcIssuer } from '../../support/oidc-issuer.ts';
import { makeStores } from '../../support/table.ts';
import { makeObjectStore } from '../control-plane/ground.ts';

interface Template {
  readonly Resources: Readonly<Record<string, unknown>>;
  readonly Outputs?: Readonly<Record<string, unknown>>;
}
const load = createRequire(import.meta.url);
const { addPeopleApi }: { addPeopleApi: (template: Template, options: object) => Template } = load(
  '../../../serverless/people-api.cjs',
);

const BUCKET = 'people-data';
const TABLE = 'people-table';
const GROUP = 'ml-operators';
const PEOPLE = {
  ada: { sub: '1', email: 'ada@example.org', groups: [GROUP] },
  bob: { sub: '2', email: 'bob@example.org', groups: ['ml'] },
  eve: { sub: '3', email: 'eve@example.org' },
};

const emulator = emulatorOfSuite();
let issuer: OidcIssuer;
let stores: Stores;
/** Of the stack's page. */
let address: string;
let chromium: TestBrowser;
let page: Page;
let errors: string[];
let requested: Set<string>;

beforeAll(async () => {
  issuer = await startOidcIssuer(PEOPLE);
  await makeObjectStore(emulator.url, BUCKET);
  stores = await makeStores(emulator.url, TABLE);
  address = await deployed();
  issuer.redirectUri = address;
  chromium = await startBrowser();
}, 120_000);

afterAll(async () => {
  await chromium?.stop();
  issuer?.stop();
});

/** The API as osls writes it, with what `--param="oidcIssuer=…"` adds. @returns the address of the page */
async function deployed(): Promise<string> {
  const api = await createFunction(emulator.url, 'api', await bundledFunction('api'), {
    TIDEWHEEL_BUCKET: BUCKET,
    TIDEWHEEL_TABLE: TABLE,
    TIDEWHEEL_STATE_MACHINE_ARN: 'arn:aws:states:us-east-1:000000000000:stateMachine:run',
    TIDEWHEEL_SCHEDULE_GROUP: 'none',
    TIDEWHEEL_SCHEDULE_ROLE_ARN: 'arn:aws:iam::000000000000:role/none',
    TIDEWHEEL_ARRIVALS_QUEUE_ARN: 'arn:aws:sqs:us-east-1:000000000000:none',
    TIDEWHEEL_NOTIFIED_MARKER: '',
    TIDEWHEEL_EVENT_BUS: 'default',
    TIDEWHEEL_ACCOUNT: '000000000000',
    TIDEWHEEL_OPERATORS: `groups=${GROUP}`,
    TIDEWHEEL_VIEWERS: 'groups=ml',
  });
  const pageArn = await createFunction(emulator.url, 'page', await bundledFunction('page'), {
    TIDEWHEEL_OIDC_ISSUER: issuer.url,
    TIDEWHEEL_OIDC_AUDIENCE: `${CLIENT}, other`,
    TIDEWHEEL_OIDC_SCOPES: 'openid email',
  });
  const made = addPeopleApi(templateOf(api), { issuer: issuer.url, audience: CLIENT });
  // The function is no resource of this template.
  const arnOfPage = JSON.stringify({ 'Fn::GetAtt': ['PageLambdaFunction', 'Arn'] });
  const TemplateBody = JSON.stringify(made).replaceAll(arnOfPage, JSON.stringify(pageArn));
  const client = new CloudFormationClient(clientConfiguration(emulator.url));
  await client.send(new CreateStackCommand({ StackName: 'people', TemplateBody }));
  await waitUntilStackCreateComplete({ client, maxWaitTime: 30, minDelay: 1 }, { StackName: 'people' });
  const { Stacks } = await client.send(new DescribeStacksCommand({ StackName: 'people' }));
  client.destroy();
  const outputs = Stacks?.[0]?.Outputs?.find(({ OutputKey }) => OutputKey === 'PageUrl');
  return outputs?.OutputValue ?? '';
}

function templateOf(api: string): Template {
  const ApiId = { Ref: 'HttpApi' };
  const routes = OPERATIONS.map(({ route: RouteKey }, number) => [
    `HttpApiRoute${number}`,
    {
      Type: 'AWS::ApiGatewayV2::Route',
      Properties: {
        ApiId,
        RouteKey,
        AuthorizationType: 'AWS_IAM',
        Target: { 'Fn::Join': ['/', ['integrations', { Ref: 'HttpApiIntegrationApi' }]] },
      },
    },
  ]);
  return {
    Resources: {
      HttpApi: { Type: 'AWS::ApiGatewayV2::Api', Properties: { Name: 'api', ProtocolType: 'HTTP' } },
      HttpApiIntegrationApi: {
        Type: 'AWS::ApiGatewayV2::Integration',
        Properties: {
          ApiId,
          IntegrationType: 'AWS_PROXY',
          IntegrationUri: api,
          PayloadFormatVersion: '2.0',
        },
      },
      ...Object.fromEntries(routes),
      HttpApiStage: {
        Type: 'AWS::ApiGatewayV2::Stage',
        Properties: { ApiId, StageName: '$default', AutoDeploy: true },
      },
    },
  };
}

beforeEach(async () => {
  Object.assign(issuer, { seconds: 600, refreshes: false });
  issuer.given.length = 0;
  errors = [];
  requested = new Set();
  // Each has its own session storage.
  const context = await chromium.browser.newContext({ viewport: { width: 1_000, height: 700 } });
  page = await context.newPage();
  page.setDefaultTimeout(15_000);
  page.on('request', (request) => {
    if (!request.isNavigationRequest()) requested.add(new URL(request.url()).origin);
  });
  page.on('console', (message) => {
    if (message.type() === 'error') errors.push(message.text());
  });
  page.on('pageerror', (error) => errors.push(error.message));
  return () => context.close();
});

let number = 0;
/** @returns the id of a run that trains */
async function trainingRun(): Promise<string> {
  number += 1;
  const at = new Date().toISOString();
  await stores.pipelines.ensure('digits', { firstBatch: 1, at });
  const run = runOf('digits', number, { status: 'training', closedAt: at, sealedAt: at });
  await stores.runs.create(run);
  await stores.attempts.create(attemptOf(run.runId, 1, { status: 'running' }));
  return run.runId;
}

async function signInAs(person: string, screen = ''): Promise<void> {
  await page.goto(`${address}${screen}`);
  await page.getByRole('link', { name: person, exact: true }).click();
}

/** What keeps readers out, as axe finds it. */
const barriers = async () => (await new AxeBuilder({ page }).analyze()).violations.map(({ id }) => id);

const head = () => page.locator('header').textContent();

describe('the page of a stack', () => {
  it('signs a person in on their way', async () => {
    const run = await trainingRun();
    await signInAs('ada', `#/runs/${run}`);
    await page.getByRole('heading', { name: run }).waitFor();
    expect(await head()).toContain('ada@example.org');
    expect(page.url()).toBe(`${address}#/runs/${run}`);
    expect(issuer.given.map((form) => form.get('grant_type'))).toEqual(['authorization_code']);
    expect(requested).toEqual(new Set([new URL(address).origin, issuer.url]));
    expect(await barriers()).toEqual([]);
    await page.reload();
    await page.getByRole('heading', { name: run }).waitFor();
    expect(issuer.given).toHaveLength(1);
    expect(errors).toEqual([]);
  });

  it('lets an operator stop a run, by name', async () => {
    const run = await trainingRun();
    await signInAs('ada', `#/runs/${run}`);
    await page.getByRole('button', { name: 'Stop…' }).click();
    await page.getByRole('button', { name: 'Stop now' }).click();
    await page.getByText('Is being stopped').waitFor();
    expect((await stores.runs.get(run))?.stop?.requestedBy).toBe('ada@example.org (1)');
  });

  it('tells a viewer why a stop is denied', async () => {
    const run = await trainingRun();
    await signInAs('bob', `#/runs/${run}`);
    await page.getByRole('button', { name: 'Stop…' }).click();
    await page.getByRole('button', { name: 'Stop now' }).click();
    await page.getByText('this needs the role operator, and your token has the role viewer').waitFor();
    expect((await stores.runs.get(run))?.stop).toBeUndefined();
  });

  it('shows nothing to a person without a role', async () => {
    await signInAs('eve');
    expect(await page.getByRole('alert').textContent()).toContain(
      'this needs the role viewer, and your token has none',
    );
  });

  it('renews a token before it ends', async () => {
    const run = await trainingRun();
    // The page renews half a minute before the end.
    Object.assign(issuer, { seconds: 20, refreshes: true });
    await signInAs('ada', `#/runs/${run}`);
    await page.getByRole('heading', { name: run }).waitFor();
    await expect.poll(() => issuer.given.at(-1)?.get('grant_type')).toBe('refresh_token');
    expect(await head()).toContain('sign out');
    expect(errors).toEqual([]);
  });

  it('keeps a screen whose sign-in has ended', async () => {
    const run = await trainingRun();
    await signInAs('ada', `#/runs/${run}`);
    await page.getByRole('heading', { name: run }).waitFor();
    // As API Gateway answers a token that has ended.
    await page.route(/\/runs\//, (route) =>
      route.fulfill({ status: 401, json: { message: 'Unauthorized' } }),
    );
    await page.getByText('sign in again').waitFor();
    expect(await page.getByRole('heading', { name: run }).count()).toBe(1);
    await page.unroute(/\/runs\//);
    await page.getByRole('button', { name: 'sign in' }).click();
    await page.getByRole('link', { name: 'ada' }).click();
    await page.getByRole('button', { name: 'sign out' }).click();
    await page.getByText('You have signed out').waitFor();
    expect(await barriers()).toEqual([]);
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).toBe('{}');
  });

  it('shows why the issuer refuses, as text', async () => {
    await signInAs('stranger');
    expect(await page.getByRole('alert').textContent()).toBe(
      'The issuer refuses (access_denied): <b>a stranger</b> may not',
    );
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('link', { name: 'ada' }).click();
    await page.getByText('There is no pipeline yet').or(page.getByText('digits').first()).waitFor();
  });

  it('takes no answer that another tab asked for', async () => {
    await page.goto(`${address}?code=stolen&state=guessed`);
    await page.getByText('This tab has not asked for that sign-in.').waitFor();
    expect(page.url()).toBe(address);
    expect(issuer.given).toEqual([]);
  });

  it.each([
    ['nonce', { nonce: 'another' }],
    ['audience', { aud: 'others' }],
    ['issuer', { iss: 'https://id.example.org' }],
  ])('takes no token of another %s', async (_, claims) => {
    await page.route(`${issuer.url}/token`, (route) =>
      route.fulfill({
        json: { id_token: issuer.token(claims) },
        headers: { 'access-control-allow-origin': new URL(address).origin },
      }),
    );
    await signInAs('ada');
    await page.getByText('The token of the issuer is not for this sign-in.').waitFor();
    expect(await page.evaluate('JSON.stringify(sessionStorage)')).toBe('{}');
  });
});

describe('its function', () => {
  const get = (file: string, headers: Record<string, string> = {}) =>
    fetch(new URL(file, address), { headers });

  it('allows calls of itself and the token endpoint', async () => {
    const answer = await get('');
    const policy = answer.headers.get('content-security-policy') ?? '';
    expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(/connect-src ([^;]*)/.exec(policy)?.[1]).toBe(`'self' ${issuer.url}`);
    expect(policy).not.toContain('unsafe');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(await answer.text()).toContain('<meta name="oidc" content="{&quot;issuer&quot;:');
  });

  it('sends a file once to who has it', async () => {
    const first = await get('page/main.js', { 'accept-encoding': 'br' });
    expect(first.headers.get('content-encoding')).toBe('br');
    const etag = first.headers.get('etag') ?? '';
    expect((await get('page/main.js', { 'if-none-match': etag })).status).toBe(304);
    const [chunk = ''] = /chunk-\w+\.js/.exec(await first.text()) ?? [];
    expect((await get(`page/${chunk}`)).headers.get('cache-control')).toContain('immutable');
  });

  it.each(['page/handler.mjs', 'page/..%2Fhandler.mjs', 'page/', 'index.html'])('has no %s', async (file) => {
    expect((await get(file)).status).toBe(404);
  });

  it('gives no answer of the API without a token', async () => {
    expect((await get('runs')).status).toBe(401);
  });
});
