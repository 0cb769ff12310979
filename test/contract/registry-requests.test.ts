/** What a hand-over asks of SageMaker, beside AWS's own model, and as a file for people to read. */
import { requestViolations } from '@tidewheel/emulators/sagemaker/api/service-model.ts';
import { expect, it } from 'vitest';
import { pipelineIn, shownInSageMaker } from '../support/contracts/registries.ts';
import { memoryMlflow, memorySageMaker } from '../support/fakes/registries.ts';
import { ground } from '../support/world/ground.ts';
import { loadModel } from './botocore.ts';

const sagemaker = loadModel('sagemaker/2017-07-24');
const IMAGE = '123456789012.dkr.ecr.us-east-1.amazonaws.com/serving:1';

async function requestsOf(declared: object) {
  const at = ground();
  const { client, requests } = memorySageMaker(at.clock);
  const promote = { whenBetterBy: 0 };
  const world = { sageMaker: client, fetch: memoryMlflow(), show: shownInSageMaker(client), promote };
  const on = await pipelineIn({ ...world, registries: { sagemaker: declared } }, at, 'digits');
  await on.record(1);
  await on.record(2);
  await on.choose('reject', 2, 'worse on “night” images;\n"see" <the page>');
  await on.process()(on.messages());
  return requests;
}

it.each([{}, { image: IMAGE, approvalPromotes: true }])(
  'SageMaker takes every request with %j',
  async (declared) => {
    const requests = await requestsOf(declared);
    expect(new Set(requests.map(({ operation }) => operation)).size).toBe(5);
    for (const { operation, input } of requests)
      expect(requestViolations(sagemaker, operation, input)).toEqual([]);
  },
);

it('the requests are those on file', async () => {
  const written = (await requestsOf({ image: IMAGE })).filter(({ operation }) =>
    /^(Create|Update)/.test(operation),
  );
  await expect(`${JSON.stringify(written, undefined, 2)}\n`).toMatchFileSnapshot(
    'model-package-requests.json',
  );
});
