/**
 * A second HTTP API for people who sign in with an OIDC issuer: the routes of the first one, behind a JWT authoriser. A
 * route of an HTTP API has one authoriser, so a token and an IAM signature cannot share one.
 * https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-jwt-authorizer.html
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
  return {
    ...template,
    Resources: { ...template.Resources, ...Object.fromEntries(copies), [AUTHORISER]: authoriser },
    Outputs: { ...template.Outputs, PeopleApiUrl: { Value: { 'Fn::GetAtt': ['PeopleApi', 'ApiEndpoint'] } } },
  };
}

module.exports = { addPeopleApi };
