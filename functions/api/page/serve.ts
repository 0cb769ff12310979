/** The answers of a stack that serves the page: its files, and a document that says where people sign in. */
import { documentHeaders, HEADERS } from './headers.ts';
import type { KnownIssuer } from './issuer.ts';

/** As serverless/built-page.cjs makes it. */
export interface BuiltFile {
  /** In the address; `/` is the document. */
  readonly path: string;
  readonly type: string;
  /** Changes with the content. */
  readonly etag: string;
  /** Compressed, in Base64. */
  readonly brotli: string;
  readonly gzip: string;
}

export interface HostedPage {
  /** Text of the document. */
  readonly html: string;
  readonly files: readonly BuiltFile[];
  readonly issuer: () => Promise<KnownIssuer>;
  /** What the page asks the issuer for. */
  readonly client: { readonly id: string; readonly scopes: string };
}

export interface PageRequest {
  readonly path: string;
  /** By name in lower case. */
  readonly headers: Readonly<Record<string, string>>;
}

/** In API Gateway's words, payload format 2.0. */
export interface PageAnswer {
  readonly statusCode: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly isBase64Encoded?: boolean;
}

export async function answerPage(deps: HostedPage, { path, headers }: PageRequest): Promise<PageAnswer> {
  if (path === '/') return documentOf(deps);
  const file = deps.files.find((each) => each.path === path);
  if (file === undefined) return plain(404, `The page has no ${path}.`);
  return fileAnswer(file, headers);
}

const plain = (statusCode: number, text: string): PageAnswer => ({
  statusCode,
  headers: { ...HEADERS, 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store' },
  body: `${text}\n`,
});

/** Not kept by a browser: the policy in its headers names an origin of the issuer. */
async function documentOf({ html, issuer, client }: HostedPage): Promise<PageAnswer> {
  const known = await issuer();
  if (known.kind === 'problem') return plain(503, known.text);
  const about = JSON.stringify({ ...known.issuer, client: client.id, scopes: client.scopes });
  return {
    statusCode: 200,
    headers: {
      ...HEADERS,
      ...documentHeaders(new URL(known.issuer.token).origin),
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
    },
    body: html.replace('</head>', () => `<meta name="oidc" content="${escaped(about)}"></head>`),
  };
}

/** Of an attribute in double quotes. */
const escaped = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('"', '&quot;').replaceAll('<', '&lt;');

/** Names that esbuild ends with a hash of the content. */
const HASHED = /-[0-9A-Z]{8}\.js$/;

function fileAnswer(file: BuiltFile, asked: PageRequest['headers']): PageAnswer {
  const headers = {
    ...HEADERS,
    etag: file.etag,
    'cache-control': HASHED.test(file.path) ? 'public, max-age=31536000, immutable' : 'no-cache',
    vary: 'accept-encoding',
  };
  if ((asked['if-none-match'] ?? '').includes(file.etag)) return { statusCode: 304, headers };
  const takesBrotli = /\bbr\b/.test(asked['accept-encoding'] ?? '');
  return {
    statusCode: 200,
    headers: { ...headers, 'content-type': file.type, 'content-encoding': takesBrotli ? 'br' : 'gzip' },
    body: takesBrotli ? file.brotli : file.gzip,
    isBase64Encoded: true,
  };
}
