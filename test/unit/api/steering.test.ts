/** A person has the checkpoints of an ended run deleted, or retries it on another version of the data. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { answer } from '../../../functions/api/answer.ts';
import { expireRuns } from '../../../functions/run/attempts/expire-runs.ts';
import {
  AT,
  attemptOf,
  declarationOf,
  outcomeOf,
  progressOf,
  runOf,
  secondsAfter,
} from '../../support/builders/records.ts';
import { expectAsDescribed } from '../../support/described.ts';
import { type Ground, ground } from '../../support/world/ground.ts';

const RUN = 'digits-000001';
const ADA = 'arn:aws:iam::123456789012:user/ada';
let at: Ground;

beforeEach(async () => {
  at = ground();
  await at.runs.create(
    runOf('digits', 1, {
      status: 'failed',
      closedAt: AT,
      sealedAt: AT,
      generations: [RUN],
      declaration: declarationOf('digits', { retention: { failedCheckpointDays: 'forever' } }),
    }),
  );
  await at.attempts.create(attemptOf(RUN, 1, { outcome: outcomeOf('userError'), status: 'failed' }));
  at.store.put(bucketKeys.progress('digits', RUN), JSON.stringify(progressOf(40)));
  at.clock.advance(60);
});

async function call(route: string, body = '') {
  const response = await answer(at, { route, parameters: { runId: RUN }, query: {}, body, caller: ADA });
  expectAsDescribed(route, response);
  return response;
}
const remove = () => call('DELETE /runs/{runId}/checkpoints');
const due = async () => {
  const { expired } = await expireRuns({ ...at, store: at.blobStore, isTimeUp: () => false });
  return expired;
};

describe('the checkpoints of an ended run', () => {
  it('are due once a person asks, and only then', async () => {
    expect(await due()).toEqual([]);
    expect(await remove()).toMatchObject({
      status: 202,
      body: { deletion: { at: secondsAfter(60), requestedBy: ADA }, isDeleted: false },
    });
    expect(await due()).toEqual([`${RUN} checkpoints`]);
  });

  it('have one request, and the timeline names its caller', async () => {
    await remove();
    at.clock.advance(60);
    expect(await remove()).toMatchObject({ body: { deletion: { at: secondsAfter(60) } } });
    expect(await at.timeline.list(RUN)).toMatchObject([
      { kind: 'CheckpointDeletionRequested', text: expect.stringContaining(ADA) as string },
    ]);
  });

  it('stay where a retry comes first', async () => {
    await remove();
    expect((await call('POST /runs/{runId}/retry')).status).toBe(202);
    expect((await at.runs.get(RUN))?.checkpointDeletion).toBeUndefined();
    expect(await remove()).toMatchObject({ status: 409 });
  });

  it('are gone where they have expired', async () => {
    await at.runs.update(RUN, { expired: ['checkpoints'], updatedAt: AT });
    expect(await remove()).toMatchObject({ status: 202, body: { isDeleted: true } });
  });
});

describe('a retry with another version of the data', () => {
  it('is refused where that version is not there', async () => {
    const response = await call('POST /runs/{runId}/retry', '{"dataset":{"pin":"digits-000009"}}');
    expect(response).toMatchObject({ status: 400, body: { problems: [{ path: 'dataset.pin' }] } });
    expect((await at.runs.get(RUN))?.status).toBe('failed');
  });

  it('keeps the data where the version does not change', async () => {
    await call('POST /runs/{runId}/retry', '{"training":{"hyperparameters":{"lr":0.1}}}');
    expect((await at.runs.get(RUN))?.generations).toEqual([RUN]);
  });
});
