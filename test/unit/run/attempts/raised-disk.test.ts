import { expect, it } from 'vitest';
import { launchAttempt } from '../../../../functions/run/attempts/launch-attempt.ts';
import { declarationOf, launchOf, outcomeOf, runOf } from '../../../support/builders/records.ts';
import { sealGeneration } from '../../../support/builders/sealed-generation.ts';
import { ground } from '../../../support/world/ground.ts';

const RUN = 'digits-000001';
const pool = { instanceType: 'c5.xlarge', launcher: 'sagemaker', purchaseOption: 'spot' } as const;

it('a full disk raises the volume, on the timeline', async () => {
  const at = ground();
  const now = at.clock.now().toISOString();
  await at.pipelines.ensure('digits', { firstBatch: 1, at: now });
  await at.runs.create(runOf('digits', 1));
  await at.runs.closeBatch(runOf('digits', 1), { at: now, declaration: declarationOf('digits') });
  await sealGeneration(at.store, RUN);
  const deps = { ...at, region: 'us-east-1', publishAgent: () => Promise.resolve('agent/0a1b/') };
  for (const attempt of [1, 2, 3]) {
    await at.placements.put(RUN, attempt, launchOf({ pool }));
    await launchAttempt(deps, { runId: RUN, attempt, taskToken: `token-${attempt}` });
    await at.attempts.update(RUN, attempt, {
      outcome: { ...outcomeOf('serviceError'), fault: 'disk' },
      updatedAt: now,
    });
  }
  expect([...at.training.jobs.values()].map(({ ResourceConfig }) => ResourceConfig?.VolumeSizeInGB)).toEqual([
    30, 130, 130,
  ]);
  const entries = (await at.timeline.list(RUN)).filter(({ kind }) => kind === 'DiskRaised');
  expect(entries.map(({ text }) => text)).toEqual([
    expect.stringContaining('attempt 2 starts with compute.volumeGigabytes: 130, because a disk was full'),
    expect.stringContaining('attempt 3 starts with compute.volumeGigabytes: 130'),
  ]);
});
