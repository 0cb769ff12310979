/**
 * A second HTTP API for people who sign in with an OIDC issuer: the routes of the first one, behind a JWT authoriser, and
 * the page, which anyone may load. A route of an HTTP API has one authoriser, so a token and an IAM signature cannot share
 * one. https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html
 */
const TYPES = ['Api', 'Integration', 'Route', 'Stage'].map((name) => `AWS::ApiGatewayV2::${name}`);
const AUTHORISER = 'PeopleApiAuthorizer';

/** The API of IAM callers and its parts have ids of osls. */
const renamed = (id) => id.replace('HttpApi', 'PeopleApi');

/** @param ids what has a copy; every reference to it becomes one to the copy */
function copied(value, ids) {
  if (Array.isArray(value)) return value.map((each) => copied(each, ids));
  if (typeof value !== 'object' || value === null) return value;
  if (ids.has(value.Ref)) return { Ref: renamed(value.Ref) };
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      name,
      name === 'DependsOn' && ids.has(inner) ? renamed(inner) : copied(inner, ids),
    ]),
  );
}

const CHANGES = {
  'AWS::ApiGatewayV2::Api': ({ Name }) => ({ Name: `${Name}-people` }),
  'AWS::ApiGatewayV2::Route': () => ({ AuthorizationType: 'JWT', AuthorizerId: { Ref: AUTHORISER } }),
  // The function asks for claims wherever this is set, so a route that had lost its authoriser would be closed.
  'AWS::ApiGatewayV2::Stage': () => ({ StageVariables: { callers: 'people' } }),
};

const PAGE = 'PageLambdaFunction';
const PAGE_ROUTES = { PeopleApiRoutePage: 'GET /', PeopleApiRoutePageFile: 'GET /page/{file}' };
/** Anyone may call these, so a flood of calls must not take what the other routes may have, nor cost much. A second. */
const PAGE_LIMITS = { ThrottlingRateLimit: 5, ThrottlingBurstLimit: 100 };
const STAGE = 'PeopleApiStage';
const ENDPOINT = { 'Fn::GetAtt': ['PeopleApi', 'ApiEndpoint'] };

/** Routes to the function of the page, which holds its files. */
function pageParts() {
  const integration = {
    Type: 'AWS::ApiGatewayV2::Integration',
    Properties: {
      ApiId: { Ref: 'PeopleApi' },
      IntegrationType: 'AWS_PROXY',
      IntegrationUri: { 'Fn::GetAtt': [PAGE, 'Arn'] },
      PayloadFormatVersion: '2.0',
      TimeoutInMillis: 10_000,
    },
  };
  const target = { 'Fn::Join': ['/', ['integrations', { Ref: 'PeopleApiIntegrationPage' }]] };
  const routes = Object.entries(PAGE_ROUTES).map(([id, RouteKey]) => [
    id,
    {
      Type: 'AWS::ApiGatewayV2::Route',
      Properties: { ApiId: { Ref: 'PeopleApi' }, RouteKey, AuthorizationType: 'NONE', Target: target },
    },
  ]);
  const arn = 'arn:${AWS::Partition}:execute-api:${AWS::Region}:${AWS::AccountId}:${PeopleApi}/*/GET/*';
  const permission = {
    Type: 'AWS::Lambda::Permission',
    Properties: {
      FunctionName: { 'Fn::GetAtt': [PAGE, 'Arn'] },
      Action: 'lambda:InvokeFunction',
      Principal: 'apigateway.amazonaws.com',
      SourceArn: { 'Fn::Sub': arn },
    },
  };
  return {
    PeopleApiIntegrationPage: integration,
    ...Object.fromEntries(routes),
    PeopleApiPagePermission: permission,
  };
}

/**
 * API Gateway refuses a stage that has settings for a route which is not there yet.
 * https://github.com/aws/serverless-application-model/issues/2479
 */
function withPageLimits(stage) {
  const RouteSettings = Object.fromEntries(Object.values(PAGE_ROUTES).map((key) => [key, PAGE_LIMITS]));
  return {
    ...stage,
    DependsOn: [stage.DependsOn ?? [], Object.keys(PAGE_ROUTES)].flat(),
    Properties: { ...stage.Properties, RouteSettings },
  };
}

/** Of what is there only with an issuer (`onlyWith` of functions/page). Here it holds. */
const CONDITION = 'HasOidcIssuer';
const unconditional = ([id, { Condition, ...resource }]) => [
  id,
  Condition === undefined || Condition === CONDITION ? resource : { Condition, ...resource },
];

const isCopied = ([id, { Type }]) =>
  id.includes('HttpApi') && (TYPES.includes(Type) || Type === 'AWS::Lambda::Permission');

/**
 * @param issuer of tokens: an address that ends where `/.well-known/openid-configuration` begins
 * @param audience client ids, with commas between them
 */
function addPeopleApi(template, { issuer, audience }) {
  const originals = Object.entries(template.Resources).filter(isCopied);
  const ids = new Set(originals.map(([id]) => id));
  const copies = originals.map(([id, resource]) => {
    const copy = copied(resource, ids);
    return [renamed(id), { ...copy, Properties: { ...copy.Properties, ...CHANGES[copy.Type]?.(copy.Properties) } }];
  });
  const made = Object.fromEntries(copies);
  const authoriser = {
    Type: 'AWS::ApiGatewayV2::Authorizer',
    Properties: {
      ApiId: { Ref: 'PeopleApi' },
      Name: 'people',
      AuthorizerType: 'JWT',
      IdentitySource: ['$request.header.Authorization'],
      JwtConfiguration: { Issuer: issuer, Audience: audience.split(',').map((each) => each.trim()) },
    },
  };
  const { [CONDITION]: _, ...Conditions } = template.Conditions ?? {};
  return {
    ...template,
    Conditions,
    Resources: {
      ...Object.fromEntries(Object.entries(template.Resources).map(unconditional)),
      ...made,
      [STAGE]: withPageLimits(made[STAGE]),
      [AUTHORISER]: authoriser,
      ...pageParts(),
    },
    Outputs: {
      ...template.Outputs,
      PeopleApiUrl: { Value: ENDPOINT },
      // With the slash, as the issuer has to know it.
      PageUrl: { Value: { 'Fn::Join': ['', [ENDPOINT, '/']] } },
    },
  };
}

module.exports = { addPeopleApi };
