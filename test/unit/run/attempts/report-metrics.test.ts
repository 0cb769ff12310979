/** The metrics of a report: where a run ended, not where its last checkpoint was. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { expect, it } from 'vitest';
import { reportRun } from '../../../../functions/run/attempts/report-run.ts';
import { attemptOf, outcomeOf, progressOf, runOf } from '../../../support/builders/records.ts';
import { ground } from '../../../support/world/ground.ts';

const RUN = 'digits-000001';

it.each([
  [
    'a checkpoint before the last point',
    progressOf(40, { metrics: { reward: 48.1, saved: 1 } }),
    { saved: 1 },
  ],
  ['no checkpoint', undefined, {}],
])('metrics are the last values of the series: %s', async (_, progressAfter, others) => {
  const at = ground();
  await at.pipelines.ensure('digits', { firstBatch: 1, at: at.clock.now().toISOString() });
  await at.runs.create(runOf('digits', 1));
  await at.attempts.create(
    attemptOf(RUN, 1, { status: 'done', outcome: outcomeOf('completed'), progressAfter }),
  );
  const points = [
    { reward: 48.1, 'train-auc': 0.7 },
    { reward: 184, loss: null },
  ].map((values, step) => ({ source: 'log', unit: 'step', position: step, at: step, values }));
  at.store.put(
    `${bucketKeys.series('digits', RUN)}attempt-1.jsonl`,
    [{ startedAt: 0, resumedFrom: null }, ...points].map((each) => JSON.stringify(each)).join('\n'),
  );
  const metrics = { reward: 184, 'train-auc': 0.7, loss: null, ...others };
  expect((await reportRun(at, RUN, { kind: 'done', reason: 'x' })).metrics).toEqual(metrics);
  expect(at.store.json(bucketKeys.report('digits', RUN))).toMatchObject({ metrics });
});
