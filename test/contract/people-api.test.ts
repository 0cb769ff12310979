/** The template of a deployment with an OIDC issuer. */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ROUTES } from '../../functions/core/api/operations.ts';
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
    const routes = ofPeople('AWS::ApiGatewayV2::Route').map(([, { Properties }]) => Properties);
    expect(routes.map(({ RouteKey }) => String(RouteKey)).toSorted()).toEqual(ROUTES.toSorted());
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
    expect(signed).toHaveLength(ROUTES.length);
    for (const [, { Properties }] of signed) expect(Properties['AuthorizationType']).toBe('AWS_IAM');
    expect(JSON.stringify(ofPeople('AWS::ApiGatewayV2::Route'))).not.toContain('HttpApi');
  });

  it('may invoke the function', () => {
    const [[, permission] = []] = ofType(template, 'AWS::Lambda::Permission').filter(([id]) =>
      id.includes('PeopleApi'),
    );
    expect(JSON.stringify(permission?.Properties['SourceArn'])).toContain('"Ref":"PeopleApi"');
  });
});
