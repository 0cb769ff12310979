/** What a stack believes of the issuer that its people sign in with. */
import { expect, it } from 'vitest';
import { rememberedIssuer } from '../../../functions/api/page/issuer.ts';

const NAME = 'https://id.example.org/';
const DOCUMENT = {
  issuer: NAME,
  authorization_endpoint: 'https://login.example.org/authorize',
  token_endpoint: 'https://login.example.org/token',
};

function asking(document: unknown) {
  const world = { document, asked: [] as string[], now: 0 };
  const issuer = rememberedIssuer({
    name: NAME,
    clock: { now: () => new Date(world.now) },
    read: async (address) => {
      world.asked.push(address);
      if (world.document instanceof Error) throw world.document;
      return world.document;
    },
  });
  return { world, issuer };
}

it('asks the issuer once an hour', async () => {
  const { world, issuer } = asking(DOCUMENT);
  await issuer();
  world.now = 3_599_999;
  expect(await issuer()).toMatchObject({
    kind: 'known',
    issuer: { authorize: 'https://login.example.org/authorize', token: 'https://login.example.org/token' },
  });
  expect(world.asked).toEqual(['https://id.example.org/.well-known/openid-configuration']);
  world.now = 3_600_000;
  await issuer();
  expect(world.asked).toHaveLength(2);
});

it('keeps an issuer that gives no answer later', async () => {
  const { world, issuer } = asking(DOCUMENT);
  const before = await issuer();
  Object.assign(world, { document: new Error('it gives no answer'), now: 4_000_000 });
  expect(await issuer()).toEqual(before);
});

it('asks again after a failure', async () => {
  const { world, issuer } = asking(new Error('it answers 500'));
  expect(await issuer()).toMatchObject({ kind: 'problem', text: expect.stringContaining('it answers 500') });
  world.document = DOCUMENT;
  expect(await issuer()).toMatchObject({ kind: 'known' });
});

it.each([
  ['another name', { ...DOCUMENT, issuer: 'https://id.example.org' }, 'it names itself'],
  ['no token endpoint', { ...DOCUMENT, token_endpoint: undefined }, 'token_endpoint'],
  [
    'an endpoint that runs code',
    { ...DOCUMENT, authorization_endpoint: 'javascript:1' },
    'authorization_endpoint is "javascript:1", must be',
  ],
  ['an endpoint without TLS', { ...DOCUMENT, token_endpoint: 'http://id.example.org/' }, 'with https://'],
  ['no document', 'hello', 'does not describe itself'],
])('refuses an issuer with %s', async (_, document, why) => {
  const known = await asking(document).issuer();
  expect(known).toMatchObject({ kind: 'problem', text: expect.stringContaining(why) });
});
