/**
 * An OIDC issuer on loopback: it describes itself, asks who it is, and gives tokens for an authorization code with PKCE, as
 * OpenID Connect Core 1.0 and RFC 7636 say. It refuses what a strict issuer refuses.
 */
import { createHash, createSign, generateKeyPairSync, type KeyObject, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';

export const CLIENT = 'tidewheel';

export interface OidcIssuer {
  readonly url: string;
  /** A token as it signs them. @param privateKey another one than its own */
  token(claims: object, privateKey?: KeyObject): string;
  /** Where browsers may come back to. */
  redirectUri: string;
  /** Life of the tokens that it gives. */
  seconds: number;
  /** Whether people get a refresh token, too. */
  refreshes: boolean;
  /** Forms that the token endpoint has answered with a token. */
  readonly given: URLSearchParams[];
  stop(): void;
}

/** @param people what it knows of each, by the name that a browser can choose */
export async function startOidcIssuer(
  people: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {},
): Promise<OidcIssuer> {
  const keys = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const server = createServer((request, response) => void respond(state, request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const at = server.address();
  const url = `http://127.0.0.1:${typeof at === 'object' && at !== null ? at.port : 0}`;
  const issuer: OidcIssuer = {
    url,
    token: (claims, privateKey = keys.privateKey) => {
      const now = Math.floor(Date.now() / 1000);
      const all = { iss: url, aud: CLIENT, iat: now - 5, exp: now + issuer.seconds, sub: '1', ...claims };
      return signed(all, privateKey);
    },
    redirectUri: '',
    seconds: 600,
    refreshes: false,
    given: [],
    stop: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  const jwk = { ...keys.publicKey.export({ format: 'jwk' }), kid: 'one', alg: 'RS256' };
  const state: State = { issuer, people, jwks: { keys: [jwk] }, codes: new Map(), refreshTokens: new Map() };
  return issuer;
}

function signed(claims: object, privateKey: KeyObject): string {
  const [header, body] = [{ alg: 'RS256', kid: 'one' }, claims].map((part) =>
    Buffer.from(JSON.stringify(part)).toString('base64url'),
  );
  const signature = createSign('RSA-SHA256').update(`${header}.${body}`).sign(privateKey, 'base64url');
  return `${header}.${body}.${signature}`;
}

interface Code {
  readonly person: string;
  readonly asked: URLSearchParams;
}

interface State {
  readonly issuer: OidcIssuer;
  readonly people: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly jwks: object;
  readonly codes: Map<string, Code>;
  readonly refreshTokens: Map<string, string>;
}

async function respond(state: State, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { issuer, jwks } = state;
  const url = new URL(request.url ?? '/', issuer.url);
  switch (url.pathname) {
    case '/.well-known/openid-configuration':
      return sendJson(response, 200, {
        issuer: issuer.url,
        authorization_endpoint: `${issuer.url}/authorize?tenant=a`,
        token_endpoint: `${issuer.url}/token`,
        jwks_uri: `${issuer.url}/keys`,
      });
    case '/keys':
      return sendJson(response, 200, jwks);
    case '/authorize':
      return authorize(state, url.searchParams, response);
    case '/token':
      return answerToken(state, new URLSearchParams(await text(request)), response);
    default:
      return sendJson(response, 404, {});
  }
}

function sendJson(response: ServerResponse, status: number, body: unknown, origin?: string): void {
  response.writeHead(status, {
    'content-type': 'application/json',
    ...(origin !== undefined && { 'access-control-allow-origin': origin }),
  });
  response.end(JSON.stringify(body));
}

const WANTED = { response_type: 'code', client_id: CLIENT, code_challenge_method: 'S256', tenant: 'a' };

/** First a page on which a person chooses who they are, then back to where the browser came from. */
function authorize({ issuer, people, codes }: State, asked: URLSearchParams, response: ServerResponse): void {
  const wrong = Object.entries({ ...WANTED, redirect_uri: issuer.redirectUri }).filter(
    ([name, value]) => asked.get(name) !== value,
  );
  const scopes = asked.get('scope')?.split(' ') ?? [];
  if (
    wrong.length > 0 ||
    !scopes.includes('openid') ||
    !/^[\w-]{43}$/.test(asked.get('code_challenge') ?? '')
  )
    return sendJson(response, 400, { wrong });
  const person = asked.get('person');
  if (person === null) return choose(Object.keys(people), asked, response);
  const back = new URL(issuer.redirectUri);
  back.searchParams.set('state', asked.get('state') ?? '');
  if (people[person] === undefined) {
    back.searchParams.set('error', 'access_denied');
    back.searchParams.set('error_description', '<b>a stranger</b> may not');
  } else {
    const code = randomBytes(16).toString('hex');
    codes.set(code, { person, asked });
    back.searchParams.set('code', code);
  }
  response.writeHead(302, { location: back.href }).end();
}

function choose(names: readonly string[], asked: URLSearchParams, response: ServerResponse): void {
  const links = [...names, 'stranger'].map((person) => {
    const query = new URLSearchParams([...asked, ['person', person]]).toString().replaceAll('&', '&amp;');
    return `<a href="?${query}">${person}</a>`;
  });
  response.writeHead(200, { 'content-type': 'text/html' }).end(`<h1>Who is it?</h1>${links.join(' ')}`);
}

function answerToken(state: State, form: URLSearchParams, response: ServerResponse): void {
  const { issuer, people, refreshTokens } = state;
  const { origin } = new URL(issuer.redirectUri);
  const granted = form.get('client_id') === CLIENT && !form.has('client_secret') && grant(state, form);
  if (!granted) return sendJson(response, 400, { error: 'invalid_grant' }, origin);
  const { person, nonce } = granted;
  const refreshToken = randomBytes(16).toString('hex');
  refreshTokens.set(refreshToken, person);
  issuer.given.push(form);
  const body = {
    token_type: 'Bearer',
    access_token: 'opaque',
    id_token: issuer.token({ ...people[person], nonce }),
    ...(issuer.refreshes && { refresh_token: refreshToken }),
  };
  sendJson(response, 200, body, origin);
}

interface Grant {
  readonly person: string;
  readonly nonce: string | undefined;
}

/** A code and a refresh token count once. */
function grant({ codes, refreshTokens }: State, form: URLSearchParams): Grant | undefined {
  if (form.get('grant_type') === 'refresh_token') {
    const used = form.get('refresh_token') ?? '';
    const person = refreshTokens.get(used);
    refreshTokens.delete(used);
    return person === undefined ? undefined : { person, nonce: undefined };
  }
  const code = form.get('code') ?? '';
  const held = codes.get(code);
  codes.delete(code);
  const challenge = createHash('sha256')
    .update(form.get('code_verifier') ?? '')
    .digest('base64url');
  if (held === undefined || held.asked.get('code_challenge') !== challenge) return undefined;
  if (held.asked.get('redirect_uri') !== form.get('redirect_uri')) return undefined;
  return { person: held.person, nonce: held.asked.get('nonce') ?? undefined };
}
