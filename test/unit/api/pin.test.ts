/** A version of a dataset is pinned in the declaration that a person wrote. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { withPin } from '@tidewheel/declaration/pipeline.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { answer } from '../../../functions/api/answer.ts';
import { packAll, settings } from '../../support/builders/packing.ts';
import { expectAsDescribed } from '../../support/described.ts';
import { DECLARATION, type Ground, ground } from '../../support/world/ground.ts';

/** As the parser spaces it. */
const spaced = (text: string): string => text.replace('[g5.xlarge]', '[ g5.xlarge ]');
const GENERATION = 'digits-000001';
const COMMENTED = `# ours\n${DECLARATION}dataset: { onChange: keep } # by hand\n`;

let at: Ground;
beforeEach(async () => {
  at = ground();
  await at.blobStore.put(`${bucketKeys.incoming('digits')}a.txt`, Buffer.from('one'));
  await packAll(at.blobStore, settings());
  at.declare(COMMENTED);
});

async function put(body: string, name = 'digits') {
  const route = 'PUT /pipelines/{name}/dataset/pin';
  const response = await answer(at, { route, parameters: { name }, query: {}, body });
  expectAsDescribed(route, response);
  return response;
}
const pin = (generation: string | null) => put(JSON.stringify({ generation }));
const stored = async () => (await at.store.readText(bucketKeys.pipeline('digits')))?.text;

describe('a pin', () => {
  it('keeps comments and other fields of the declaration', async () => {
    for (let turn = 0; turn < 2; turn += 1)
      expect(await pin(GENERATION)).toMatchObject({
        status: 200,
        body: { name: 'digits', pinned: GENERATION, generations: [GENERATION] },
      });
    expect(await stored()).toBe(
      spaced(COMMENTED).replace('onChange: keep', `onChange: keep, pin: ${GENERATION}`),
    );
  });

  it('is taken out without a trace', async () => {
    await pin(GENERATION);
    expect(await pin(null)).toMatchObject({ status: 200, body: { generations: [GENERATION] } });
    expect(await stored()).toBe(spaced(COMMENTED));
  });

  it.each([
    ['{"generation":"digits-000009"}', 400, `give one of ${GENERATION}`],
    ['{"generation":"constructor"}', 400, `give one of ${GENERATION}`],
    ['{"generation":7}', 400, 'generation'],
    ['{"generation":null,"more":1}', 400, 'more'],
    ['{', 400, 'no JSON'],
  ])('refuses %s', async (body, status, message) => {
    expect(await put(body)).toMatchObject({
      status,
      body: { message: expect.stringContaining(message) as string },
    });
    expect(await stored()).toBe(COMMENTED);
  });

  it('refuses a declaration that is not valid', async () => {
    at.declare(`${COMMENTED}colour: red\n`);
    expect((await pin(GENERATION)).status).toBe(409);
  });

  it('is refused where an alias holds the dataset', async () => {
    at.declare(`x-d: &d { onChange: keep }\n${DECLARATION}dataset: *d\n`);
    expect(await pin(GENERATION)).toMatchObject({ status: 409 });
  });

  it('needs a declaration', async () => {
    expect((await put('{"generation":null}', 'letters')).status).toBe(404);
  });
});

it('a pin finds its place in a short declaration', () => {
  expect(withPin('name: digits\n', GENERATION)).toBe(`name: digits\ndataset:\n  pin: ${GENERATION}\n`);
  expect(withPin('{"name":"digits"}', GENERATION)).toContain(GENERATION);
});
