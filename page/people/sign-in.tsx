/**
 * Sign-in with the OIDC issuer of a stack: an authorization code with PKCE, and no secret. Only a stack's page loads it.
 * https://datatracker.ietf.org/doc/html/draft-ietf-oauth-browser-based-apps
 *
 * The ID token is kept for this tab, so that a reload needs no sign-in. A refresh token, which lives longer, is kept in
 * memory alone.
 */
import { signal } from '@preact/signals';
import { render } from 'preact';
import { RefusalText } from '../parts/text.tsx';
import { useAccess } from '../state/api.ts';

interface Token {
  readonly text: string;
  readonly name: string;
  /** By this browser's clock, in milliseconds. */
  readonly until: number;
}

const ASKED = 'asked';
const TOKEN = 'token';
/** A call takes time, too. */
const EARLY_MILLISECONDS = 30_000;

/** The issuer, as functions/api/page/serve.ts writes it into the document. */
let about: Fields = {};
let root: Element;
let token: Token;
let refreshToken: string | undefined;
const isEnded = signal(false);

const here = (): string => location.origin + location.pathname;

/** @returns whether the page can be drawn; else a screen of its own is */
export async function signIn(issuer: string, into: Element): Promise<boolean> {
  about = parsed(issuer);
  root = into;
  const answer = new URLSearchParams(location.search);
  const kept = keptToken();
  if (answer.has('state')) {
    const problem = await take(answer);
    if (problem !== undefined) return refuse(problem);
  } else if (kept !== undefined && Date.now() < kept.until) token = kept;
  else return ask();
  useAccess({ send, lost: 'The stack gives no answer: is this machine online?', remedy, Account });
  return true;
}

type Fields = Readonly<Record<string, unknown>>;

const fieldsOf = (value: unknown): Fields =>
  typeof value === 'object' && value !== null ? { ...value } : {};
const parsed = (text: string | null): Fields => fieldsOf(JSON.parse(text ?? 'null'));
const textOf = (value: unknown): string => (typeof value === 'string' ? value : '');
const issuerText = (name: 'issuer' | 'authorize' | 'token' | 'client' | 'scopes'): string =>
  textOf(about[name]);

/** Undefined also where another release of the page has kept it. */
function keptToken(): Token | undefined {
  const { text, name, until } = parsed(sessionStorage.getItem(TOKEN));
  return typeof text === 'string' && typeof until === 'number'
    ? { text, name: textOf(name), until }
    : undefined;
}

/** Leaves the page for the issuer. The request stays in this tab, with the screen that the reader came for. */
async function ask(): Promise<never> {
  const [state, nonce, verifier] = [random(), random(), random()];
  sessionStorage.setItem(ASKED, JSON.stringify({ state, nonce, verifier, hash: location.hash }));
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(verifier));
  const query = {
    response_type: 'code',
    client_id: issuerText('client'),
    redirect_uri: here(),
    scope: issuerText('scopes'),
    state,
    nonce,
    code_challenge: base64Url(new Uint8Array(digest)),
    code_challenge_method: 'S256',
  };
  const url = new URL(issuerText('authorize'));
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  location.assign(url);
  return new Promise(() => {});
}

const random = (): string => base64Url(crypto.getRandomValues(new Uint8Array(32)));

const base64Url = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

/** @returns what is wrong with the issuer's answer in the address, or undefined: `token` is set */
async function take(answer: URLSearchParams): Promise<string | undefined> {
  const asked = parsed(sessionStorage.getItem(ASKED));
  // An answer counts once, and its code leaves the history.
  sessionStorage.removeItem(ASKED);
  history.replaceState(null, '', here() + textOf(asked['hash']));
  dispatchEvent(new Event('hashchange'));
  if (asked['state'] !== answer.get('state')) return 'This tab has not asked for that sign-in.';
  const code = answer.get('code');
  if (code === null)
    return `The issuer refuses (${answer.get('error') ?? ''}): ${answer.get('error_description') ?? 'it gives no reason'}`;
  const [nonce, verifier] = [textOf(asked['nonce']), textOf(asked['verifier'])];
  const form = { grant_type: 'authorization_code', code, redirect_uri: here(), code_verifier: verifier };
  return exchange(form, nonce);
}

/** @param nonce undefined for a refresh, whose token may have none */
async function exchange(form: Record<string, string>, nonce?: string): Promise<string | undefined> {
  try {
    const body = new URLSearchParams({ client_id: issuerText('client'), ...form });
    const reply = await fetch(issuerText('token'), { method: 'POST', body });
    const given = fieldsOf(await reply.json());
    if (!reply.ok)
      return `The issuer refuses (${reply.status}): ${textOf(given['error_description'] ?? given['error']) || 'it gives no reason'}`;
    const text = textOf(given['id_token']);
    const { iss, aud, email, sub, exp, iat, nonce: answered } = claimsOf(text);
    if (
      iss !== issuerText('issuer') ||
      ![aud].flat().includes(issuerText('client')) ||
      (nonce && answered !== nonce)
    )
      return 'The token of the issuer is not for this sign-in.';
    // The browser's clock may be wrong, so its own time is not compared with the issuer's.
    token = { text, name: textOf(email ?? sub), until: Date.now() + (Number(exp) - Number(iat)) * 1000 };
    refreshToken = textOf(given['refresh_token']) || refreshToken;
    sessionStorage.setItem(TOKEN, JSON.stringify(token));
    isEnded.value = false;
    return undefined;
  } catch {
    return `The issuer gives no answer that this page may read: allow the origin ${location.origin} there.`;
  }
}

/** Over TLS from the issuer itself, so its signature says nothing more. API Gateway checks it. */
const claimsOf = (text: string) => {
  const bytes = atob((text.split('.')[1] ?? '').replaceAll('-', '+').replaceAll('_', '/'));
  return parsed(new TextDecoder().decode(Uint8Array.from(bytes, (each) => each.charCodeAt(0))));
};

let renewing: Promise<boolean> | undefined;
/** @returns whether there is another token */
const renew = (): Promise<boolean> =>
  (renewing ??= refresh().finally(() => {
    renewing = undefined;
  }));

async function refresh(): Promise<boolean> {
  if (refreshToken === undefined) return false;
  const problem = await exchange({ grant_type: 'refresh_token', refresh_token: refreshToken });
  if (problem !== undefined) refreshToken = undefined;
  return problem === undefined;
}

const send: Parameters<typeof useAccess>[0]['send'] = async ({ method, path, headers, body }) => {
  const call = () =>
    fetch(`.${path}`, {
      method,
      headers: { ...headers, authorization: `Bearer ${token.text}` },
      ...(body !== undefined && { body }),
    });
  if (Date.now() > token.until - EARLY_MILLISECONDS) await renew();
  // Each call costs money, and this one would be refused.
  if (isEnded.value) return new Response(null, { status: 401 });
  let reply = await call();
  if (reply.status === 401 && (await renew())) reply = await call();
  isEnded.value = reply.status === 401;
  return reply;
};

function remedy(status: number, message: string): string | undefined {
  // Not by itself: what a reader has written into a field would be lost.
  if (status === 401) return 'Your sign-in has ended, or the API does not take it: sign in again.';
  return status === 403 ? `You may not do that (403): ${message}` : undefined;
}

const Account = () => (
  <span>
    {token.name}{' '}
    <button type="button" onClick={() => void (isEnded.value ? ask() : signOut())}>
      {isEnded.value ? 'sign in' : 'sign out'}
    </button>
  </span>
);

function signOut(): void {
  sessionStorage.removeItem(TOKEN);
  refuse('You have signed out of this tab. The issuer may still know you.');
}

function refuse(text: string): false {
  root.replaceChildren();
  render(
    <main>
      <h1>Tidewheel</h1>
      <RefusalText text={text} />
      <button type="button" onClick={() => void ask()}>
        Sign in
      </button>
    </main>,
    root,
  );
  return false;
}
