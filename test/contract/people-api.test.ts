/** The template of a deployment with an OIDC issuer. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { OPERATIONS } from '../../functions/api/operation-table.ts';
import { ofType, packaged, type Template } from './packaged.ts';

const run = promisify(execFile);
const load = createRequire(import.meta.url);
const { shapeTemplate }: { shapeTemplate: (template: Template, parameters: unknown) => Template } = load(
  '../../serverless/shape-template.cjs',
);
const { withDefaults }: { withDefaults: (given: unknown) => unknown } = load(
  '../../serverless/parameters.cjs',
);

const ISSUER = 'https://cognito-idp.us-east-1.amazonaws.com/us-east-1_abc';
let template: Template;
const folder = mkdtempSync(join(tmpdir(), 'tidewheel-people-'));
beforeAll(async () => {
  const given = { oidcIssuer: ISSUER, oidcAudience: 'one, two', oidcOperators: 'cognito:groups=ml' };
  template = shapeTemplate((await packaged()).template, withDefaults(given));
}, 300_000);
afterAll(() => rmSync(folder, { recursive: true }));

const ofPeople = (type: string) =>
  ofType(template, type).filter(([id]) => id === 'PeopleApi' || id.startsWith('PeopleApi'));

describe('the API for people', () => {
  it('passes cfn-lint with the whole template', async () => {
    const file = join(folder, 'template.json');
    writeFileSync(file, JSON.stringify(template));
    // As test/contract/template.test.ts, which says why.
    const ignored = ['--ignore-checks', 'W3005', 'E3601', 'W8003', '--'];
    const lint = join('.venv', process.platform === 'win32' ? 'Scripts' : 'bin', 'cfn-lint');
    const { stdout } = await run(lint, ['--format', 'parseable', ...ignored, file]).catch(
      (error: unknown) => ({
        stdout: String(Reflect.get(Object(error), 'stdout')),
      }),
    );
    expect(stdout).toBe('');
  });

  it('has every route behind the authoriser', () => {
    const routes = ofPeople('AWS::ApiGatewayV2::Route')
      .map(([, { Properties }]) => Properties)
      .filter(({ AuthorizationType }) => AuthorizationType !== 'NONE');
    expect(routes.map(({ RouteKey }) => String(RouteKey)).toSorted()).toEqual(
      OPERATIONS.map(({ route }) => route).toSorted(),
    );
    for (const { ApiId, AuthorizationType, AuthorizerId } of routes)
      expect({ ApiId, AuthorizationType, AuthorizerId }).toEqual({
        ApiId: { Ref: 'PeopleApi' },
        AuthorizationType: 'JWT',
        AuthorizerId: { Ref: 'PeopleApiAuthorizer' },
      });
  });

  it('takes tokens of one issuer for the given clients', () => {
    expect(template.Resources['PeopleApiAuthorizer']?.Properties).toMatchObject({
      AuthorizerType: 'JWT',
      JwtConfiguration: { Issuer: ISSUER, Audience: ['one', 'two'] },
    });
  });

  it('leaves the API of IAM callers as it is', () => {
    const signed = ofType(template, 'AWS::ApiGatewayV2::Route').filter(([id]) => id.startsWith('HttpApi'));
    expect(signed).toHaveLength(OPERATIONS.length);
    for (const [, { Properties }] of signed) expect(Properties['AuthorizationType']).toBe('AWS_IAM');
    expect(JSON.stringify(ofPeople('AWS::ApiGatewayV2::Route'))).not.toContain('HttpApi');
  });

  it('may invoke its functions', () => {
    const permissions = ofType(template, 'AWS::Lambda::Permission').filter(([id]) =>
      id.includes('PeopleApi'),
    );
    const functions = permissions.map(([, { Properties }]) => JSON.stringify(Properties['FunctionName']));
    expect(functions.toSorted()).toEqual(
      ['ApiLambdaFunction', 'PageLambdaFunction', 'PlanLambdaFunction'].map((id) =>
        JSON.stringify({ 'Fn::GetAtt': [id, 'Arn'] }),
      ),
    );
    for (const [, { Properties }] of permissions)
      expect(JSON.stringify(Properties['SourceArn'])).toMatch(/"Ref":"PeopleApi"|\$\{PeopleApi\}/);
  });
});

describe('the page of the stack', () => {
  const PAGE = ['PageLambdaFunction', 'PageLogGroup', 'PageRole'];

  it('is all that anyone may call', () => {
    const open = ofType(template, 'AWS::ApiGatewayV2::Route').filter(
      ([, { Properties }]) => Properties['AuthorizationType'] === 'NONE',
    );
    expect(open.map(([, { Properties }]) => Properties['RouteKey'])).toEqual(['GET /', 'GET /page/{file}']);
    for (const [, { Properties }] of open)
      expect(JSON.stringify(Properties['Target'])).toContain('"PeopleApiIntegrationPage"');
  });

  it('takes few calls a second from anyone', () => {
    const { Properties, DependsOn } = template.Resources['PeopleApiStage'] ?? {};
    const settings = Object.entries(Object(Properties?.['RouteSettings']));
    expect(settings).toEqual(
      ['GET /', 'GET /page/{file}'].map((route) => [
        route,
        { ThrottlingRateLimit: 5, ThrottlingBurstLimit: 100 },
      ]),
    );
    // API Gateway refuses settings of a route that is not there yet.
    expect(DependsOn).toEqual(expect.arrayContaining(['PeopleApiRoutePage', 'PeopleApiRoutePageFile']));
  });

  it('has a function that may write its log alone', () => {
    const policies = template.Resources['PageRole']?.Properties['Policies'] as readonly {
      readonly PolicyDocument: { readonly Statement: readonly { readonly Action: unknown }[] };
    }[];
    expect(
      policies.flatMap(({ PolicyDocument }) => PolicyDocument.Statement.map(({ Action }) => Action)),
    ).toEqual([['logs:CreateLogStream', 'logs:PutLogEvents']]);
    expect(template.Resources['PageLambdaFunction']?.Properties).not.toHaveProperty('VpcConfig');
  });

  it('is in no stack without an issuer', async () => {
    const { Resources } = (await packaged()).template;
    expect(PAGE.map((id) => Reflect.get(Object(Resources[id]), 'Condition'))).toEqual(
      PAGE.map(() => 'HasOidcIssuer'),
    );
    const inAny = PAGE.map((id) => Reflect.get(Object(template.Resources[id]), 'Condition'));
    expect(inAny).toEqual(PAGE.map(() => undefined));
    expect(Object.keys(Resources).filter((id) => id.includes('People'))).toEqual([]);
  });
});
