/** The issuer that people sign in with, as it describes itself. https://openid.net/specs/openid-connect-discovery-1_0.html */

import type { Clock } from '@tidewheel/kit/clock.ts';
import { messageOf } from '@tidewheel/kit/errors.ts';
import { check } from '@tidewheel/kit/validation.ts';
import * as z from 'zod';

/** Where a browser signs in. */
interface Issuer {
  readonly issuer: string;
  readonly authorize: string;
  readonly token: string;
}

export type KnownIssuer =
  | { readonly kind: 'known'; readonly issuer: Issuer }
  /** With the remedy. */
  | { readonly kind: 'problem'; readonly text: string };

/** An issuer on loopback is one of the local region. */
function isSafe(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return protocol === 'https:' || (protocol === 'http:' && hostname === '127.0.0.1');
}

const endpoint = z.string().refine(isSafe, 'must be an address with https://');
const documentSchema = z.object({
  issuer: z.string(),
  authorization_endpoint: endpoint,
  token_endpoint: endpoint,
});

/** @param name the parameter oidcIssuer */
function issuerIn(document: unknown, name: string): KnownIssuer {
  const checked = check(documentSchema, document, 'shown');
  if (!checked.ok)
    return problem(name, checked.problems.map(({ path, message }) => `${path} ${message}`).join('; '));
  const { issuer, authorization_endpoint: authorize, token_endpoint: token } = checked.value;
  // API Gateway compares to the last slash, too.
  if (issuer !== name) return problem(name, `it names itself "${issuer}"`);
  return { kind: 'known', issuer: { issuer, authorize, token } };
}

const problem = (name: string, why: string): KnownIssuer => ({
  kind: 'problem',
  text: `The issuer ${name} does not describe itself as OIDC asks (${why}). Look at its /.well-known/openid-configuration, and deploy with the oidcIssuer that it names.`,
});

const KEPT_MILLISECONDS = 3_600_000;

interface IssuerDeps {
  /** Parameter oidcIssuer. */
  readonly name: string;
  readonly clock: Clock;
  /** @throws Error where nothing answers */
  readonly read: (address: string) => Promise<unknown>;
}

/** Asks the issuer once an hour. One that gives no answer then is taken as it was. */
export function rememberedIssuer({ name, clock, read }: IssuerDeps): () => Promise<KnownIssuer> {
  let kept: { readonly known: KnownIssuer; readonly at: number } | undefined;
  const ask = async (): Promise<KnownIssuer> => {
    try {
      return issuerIn(await read(`${name.replace(/\/$/, '')}/.well-known/openid-configuration`), name);
    } catch (error: unknown) {
      return problem(name, messageOf(error));
    }
  };
  return async () => {
    const at = clock.now().getTime();
    if (kept !== undefined && at - kept.at < KEPT_MILLISECONDS) return kept.known;
    const known = await ask();
    if (known.kind === 'known') kept = { known, at };
    return kept?.known ?? known;
  };
}
