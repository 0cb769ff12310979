/** What a stack answers to browsers that load its page. */
import { expect, it } from 'vitest';
import { answerPage, type HostedPage } from '../../../functions/api/page/serve.ts';

const HOSTILE = 'https://id.example.org/"><script>$&';
const file = { path: '/page/main.js', type: 'text/javascript', etag: '"a"', brotli: 'YnI=', gzip: 'Z3o=' };
const deps: HostedPage = {
  html: '<html><head></head></html>',
  files: [file],
  issuer: async () => ({
    kind: 'known',
    issuer: { issuer: HOSTILE, authorize: HOSTILE, token: 'https://id.example.org:8443/token' },
  }),
  client: { id: 'one', scopes: 'openid' },
};

it('writes the issuer into the document as text', async () => {
  const { body = '', headers } = await answerPage(deps, { path: '/', headers: {} });
  const [, content = ''] = /<meta name="oidc" content="([^"]*)"><\/head><\/html>$/.exec(body) ?? [];
  const written = content.replaceAll('&quot;', '"').replaceAll('&lt;', '<').replaceAll('&amp;', '&');
  expect(JSON.parse(written)).toMatchObject({ issuer: HOSTILE, client: 'one', scopes: 'openid' });
  expect(headers['content-security-policy']).toContain("connect-src 'self' https://id.example.org:8443;");
});

it('says what is wrong with the issuer', async () => {
  const issuer = async () => ({ kind: 'problem' as const, text: 'deploy with another' });
  const answer = await answerPage({ ...deps, issuer }, { path: '/', headers: {} });
  expect(answer).toMatchObject({ statusCode: 503, body: 'deploy with another\n' });
});

it('sends gzip where brotli is not taken', async () => {
  const answer = await answerPage(deps, { path: file.path, headers: { 'accept-encoding': 'gzip' } });
  expect(answer).toMatchObject({ headers: { 'content-encoding': 'gzip' }, body: 'Z3o=' });
});

it('sends nothing that a browser has', async () => {
  const answer = await answerPage(deps, { path: file.path, headers: { 'if-none-match': 'W/"a"' } });
  expect(answer).toMatchObject({ statusCode: 304, headers: { etag: '"a"' } });
  expect(answer.body).toBeUndefined();
});
