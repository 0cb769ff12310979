import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { expect, it } from 'vitest';
import { launchAttempt } from '../../../../functions/run/attempts/launch-attempt.ts';
import { reconcile } from '../../../../functions/run/attempts/reconcile.ts';
import { declarationOf, launchOf, runOf } from '../../../support/builders/records.ts';
import { sealGeneration } from '../../../support/builders/sealed-generation.ts';
import { ground } from '../../../support/world/ground.ts';

const RUN = 'digits-000001';

async function launched() {
  const at = ground();
  const now = at.clock.now().toISOString();
  await at.pipelines.ensure('digits', { firstBatch: 1, at: now });
  await at.runs.create(runOf('digits', 1));
  await at.runs.closeBatch(runOf('digits', 1), { at: now, declaration: declarationOf('digits') });
  const pool = { instanceType: 'g5.xlarge', launcher: 'sagemaker', purchaseOption: 'spot' } as const;
  await at.placements.put(RUN, 1, launchOf({ pool }));
  await sealGeneration(at.store, RUN);
  const deps = { ...at, region: 'us-east-1', publishAgent: () => Promise.resolve('agent/0a1b/') };
  await launchAttempt(deps, { runId: RUN, attempt: 1, taskToken: 'token-1' });
  return at;
}

it('says once that a later release wrote the note', async () => {
  const at = await launched();
  at.store.put(bucketKeys.progress('digits', RUN), JSON.stringify({ version: 2 }));
  at.pass(600);
  for (const _ of [1, 2]) await reconcile(at, { sweep: false });
  const entries = (await at.timeline.list(RUN)).filter(({ kind }) => kind === 'NewerNote');
  expect(entries.map(({ text }) => text)).toEqual([
    expect.stringContaining('writes version 2 of the progress note, and this deployment reads up to 1'),
  ]);
});

it('announces each hang of a host once', async () => {
  const at = await launched();
  const look = () => reconcile(at, { sweep: false });
  const note = (host: string, content: string) =>
    at.store.put(`${bucketKeys.hangs('digits', RUN)}${host}.json`, content);
  const hangs = async () => (await at.timeline.list(RUN)).filter(({ kind }) => kind === 'ScriptHangs');

  // A host gets the notes of earlier attempts with their checkpoints.
  note('algo-1', JSON.stringify({ hangsSince: '2020-01-01T00:00:00Z' }));
  at.pass(600);
  await look();
  expect(await hangs()).toEqual([]);

  const since = at.clock.now().toISOString();
  note('algo-2', JSON.stringify({ hangsSince: since }));
  note('algo-3', 'no JSON');
  note('algo-4', JSON.stringify({ hangsSince: null }));
  const ranks = ['rank 0: train.py:8 spin', 'rank 1: train.py:9 wait'];
  note('algo-5', JSON.stringify({ hangsSince: since, kind: 'noSteps', ranks }));
  at.pass(130);
  await look();
  await look();
  expect((await hangs()).map(({ text }) => text)).toEqual([
    expect.stringContaining(`the script on algo-2 has neither computed nor printed anything since ${since}`),
    expect.stringMatching(/algo-5 computes and has made no step since .*; rank 0: train\.py:8 spin; rank 1/u),
  ]);
  const sent = at.notifier.notices.flatMap(({ notice }) => (notice.type === 'ScriptHangs' ? [notice] : []));
  expect(sent).toMatchObject([
    { host: 'algo-2', kind: 'idle' },
    { host: 'algo-5', ranks },
  ]);
});
