/** What people may do who sign in with the deployment's OIDC issuer: claims of their tokens give them a role. */

/** viewer: reads; operator: also changes something. An operator may do everything a viewer may. */
export type Role = 'viewer' | 'operator';

/** As API Gateway gives them: it has checked signature, issuer, audience and times of the token. */
export type Claims = Readonly<Record<string, unknown>>;

interface RequiredClaim {
  readonly claim: string;
  readonly value: string;
}

/** A token with one of the claims has the role. */
export interface PeopleRoles {
  readonly operators: readonly RequiredClaim[];
  readonly viewers: readonly RequiredClaim[];
}

/** undefined: none, also for a token that the issuer gave to a person of another team */
export function roleInToken(claims: Claims, { operators, viewers }: PeopleRoles): Role | undefined {
  const has = (required: readonly RequiredClaim[]): boolean =>
    required.some(({ claim, value }) => valuesOf(claims[claim]).includes(value));
  if (has(operators)) return 'operator';
  return has(viewers) ? 'viewer' : undefined;
}

export const may = (role: Role | undefined, needed: Role): boolean =>
  role === 'operator' || (role === 'viewer' && needed === 'viewer');

/** For the timeline: the address of e-mail where the token has one, which people know, and the id. */
export function nameOf(claims: Claims): string | undefined {
  const [email, subject] = [claims['email'], claims['sub']].map((claim) =>
    typeof claim === 'string' ? claim.slice(0, 200) : undefined,
  );
  if (email === undefined) return subject;
  return subject === undefined ? email : `${email} (${subject})`;
}

/**
 * The values of a claim. API Gateway writes a list as `[a b]`: seen on AWS, not documented. A value with a space in it
 * looks like two, so the deployment's parameters take none.
 * https://github.com/floci-io/floci/pull/2011
 */
function valuesOf(claim: unknown): unknown[] {
  if (Array.isArray(claim)) return claim;
  if (typeof claim !== 'string') return [];
  const [, inner] = /^\[(.*)\]$/s.exec(claim) ?? [];
  return inner === undefined ? [claim] : inner.split(/[\s,]+/);
}
