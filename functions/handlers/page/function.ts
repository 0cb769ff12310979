import type { FunctionDescription } from '../../../serverless/describe/function-description.ts';

export const page: FunctionDescription = {
  description: 'The page of a stack whose people sign in with an OIDC issuer',
  // It waits three seconds for the issuer.
  timeoutSeconds: 10,
  memoryMegabytes: 256,
  onlyWith: 'oidcIssuer',
  environment: {
    TIDEWHEEL_OIDC_ISSUER: "${param:oidcIssuer, ''}",
    TIDEWHEEL_OIDC_AUDIENCE: "${param:oidcAudience, ''}",
    TIDEWHEEL_OIDC_SCOPES: "${param:oidcScopes, 'openid email'}",
  },
  // Anyone may call it: its routes are made by serverless/people-api.cjs, without an authoriser.
  permissions: [],
};
