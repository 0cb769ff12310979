/** What an earlier release has stored is read with today's defaults, so its runs go on after an upgrade. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { pinned, pipelineSchema } from '@tidewheel/declaration/pipeline.ts';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { answer } from '../../../functions/api/answer.ts';
import { checkReadable } from '../../../packages/packing/seal/exclusions.ts';
import { asOldReport, PINNED } from '../../support/builders/last-release.ts';
import { declarationOf, runOf } from '../../support/builders/records.ts';
import { memoryStores } from '../../support/fakes/stores.ts';
import { machineOfRelease } from '../../support/world/asl.ts';
import { violations } from '../../support/world/facts.ts';
import { ground } from '../../support/world/ground.ts';
import { live } from '../../support/world/history.ts';

const RUN = 'digits-000001';
const TODAY = declarationOf('digits', {
  packing: { format: 'webdataset' },
  training: { strategy: 'single', frameworkVersion: '2.13' },
  compute: { instanceTypes: ['g5.xlarge'] },
});

async function declarationRead(change: Readonly<Record<string, unknown>> = {}) {
  const { runs, rewrite } = memoryStores();
  await runs.create(runOf('digits', 1));
  rewrite('runs', RUN, (item) => ({ ...item, declaration: { ...JSON.parse(PINNED), ...change } }));
  return (await runs.get(RUN))?.declaration;
}

describe('a declaration that an earlier release has pinned', () => {
  it('has the defaults of fields that came since', async () => {
    expect(await declarationRead()).toEqual(TODAY);
  });

  it('lets a run seal what its old release packed', async () => {
    const declaration = await declarationRead();
    const plan = { objects: 60, rejected: 0, pipeline: 'digits' };
    expect(declaration).toBeDefined();
    if (declaration !== undefined) checkReadable(plan, new Map(), declaration.packing);
    expect(declaration?.packing.waitHours).toBe(168);
  });

  it.each([
    { limits: { maximumRunSeconds: 1, attempts: 5_000 } },
    { compute: { nodes: 99, volumeGigabytes: 0, purchaseOption: 'spot' } },
    { training: { ...TODAY.training, source: '..', entryPoint: 'no program' } },
  ])('is not bound by rules that came since: %j', async (change) => {
    expect(pipelineSchema.safeParse({ ...TODAY, ...change }).success).toBe(false);
    expect(await declarationRead(change)).toEqual({ ...TODAY, ...change, compute: expect.anything() });
  });

  it.each([
    [{ compute: { nodes: 'two' } }, /declaration\.compute\.nodes/],
    [
      { packing: { ...TODAY.packing, fromTheFuture: 1 } },
      /declaration\.packing: has no field "fromTheFuture"\)/,
    ],
    [{ training: { strategy: 'swarm' } }, /declaration\.training\.strategy/],
  ])('is refused where its fields are others: %j', async (change, message) => {
    await expect(declarationRead(change)).rejects.toThrow(message);
  });

  it('is the same whenever it is read again', () => {
    expect(pinned(pipelineSchema).parse(JSON.parse(JSON.stringify(TODAY)))).toEqual(TODAY);
  });
});

describe('a report of an earlier release', () => {
  it('counts in the money of its month', async () => {
    const { world } = await live(1);
    const [run] = await world.runs.list('tide', 1);
    const report = world.store.json(bucketKeys.report('tide', run?.runId ?? ''));
    const at = ground();
    await at.runs.create(runOf('digits', 1));
    await at.pipelines.ensure('digits', { firstBatch: 2, at: run?.createdAt ?? '' });
    await at.runs.update(RUN, { status: 'succeeded', updatedAt: run?.updatedAt ?? '' });
    at.store.put(bucketKeys.report('digits', RUN), JSON.stringify(asOldReport(report)));
    const month = run?.updatedAt.slice(0, 7);
    expect(
      await answer(at, { route: 'GET /money', parameters: {}, query: { month: month ?? '' }, body: '' }),
    ).toMatchObject({
      body: { total: { runs: 1 } },
    });
  });
});

describe('runs of an earlier release', () => {
  it('end well after an upgrade in any state', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.nat(),
        fc.constantFrom('sagemaker' as const, 'ec2' as const),
        async (history, launcher) => {
          const lived = await live(history, launcher, { upgrades: true, stops: true });
          expect(await violations(lived)).toEqual([]);
        },
      ),
      { numRuns: 4, seed: 1, endOnFailure: true },
    );
  }, 120_000);

  it('end well by the definition of 0.1.0', async () => {
    const lived = await live(4, 'sagemaker', { definition: machineOfRelease('0.1.0') });
    expect(await violations(lived)).toEqual([]);
  }, 120_000);
});
