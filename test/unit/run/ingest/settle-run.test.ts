/** The Settle state against bucket and table: what it waits for, what it closes, what it refuses. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { beforeEach, describe, expect, it } from 'vitest';
import { keepClose } from '../../../../functions/records/record-copies.ts';
import { settleRun } from '../../../../functions/run/ingest/settle-run.ts';
import { wakeRun } from '../../../../functions/run/ingest/wake.ts';
import { declarationOf, runOf } from '../../../support/builders/records.ts';
import { DECLARATION, type Ground, ground } from '../../../support/world/ground.ts';

let at: Ground;
const at0 = () => at.clock.now().toISOString();
const in0 = (seconds: number) => new Date(at.clock.now().getTime() + seconds * 1_000).toISOString();

beforeEach(async () => {
  at = ground();
  at.declare();
  await at.pipelines.ensure('digits', { firstBatch: 1, at: at0() });
});

const writeSource = (text: string) => at.store.writeText('digits/source/train.py', text);
const open = async (batch: number) => {
  const run = runOf('digits', batch, { createdAt: at0(), updatedAt: at0() });
  await at.runs.create(run);
  return run;
};

async function waiting() {
  const first = await settleRun(at, { runId: 'digits-000002' });
  if (first.kind !== 'wait') throw new Error('it did not wait');
  return { until: first.until, observation: first.observation ?? undefined };
}

describe('a run that settles', () => {
  it('waits for quiet and then pins the declaration', async () => {
    await open(1);
    at.drop('a.png');
    const first = await settleRun(at, { runId: 'digits-000001' });
    expect(first).toMatchObject({ kind: 'wait', until: in0(60), observation: { objects: 1 } });
    at.clock.advance(60);
    const observation = first.kind === 'wait' ? (first.observation ?? undefined) : undefined;
    expect(await settleRun(at, { runId: 'digits-000001', observation })).toEqual({
      kind: 'settled',
      trainAnyway: false,
      draws: false,
    });
    const run = await at.runs.get('digits-000001');
    expect(run).toMatchObject({ status: 'packing', closedAt: at0(), declaration: { name: 'digits' } });
    expect(await at.pipelines.get('digits')).toMatchObject({ openBatch: 2, closedAt: at0() });
    expect((await at.timeline.list('digits-000001')).map(({ text }) => text)).toEqual([
      '1 object, 5 bytes (quiet)',
    ]);
  });

  it.each([
    ['waits with its first look at a large folder', {}, { objects: 100_001, isDated: true }, null],
    ['looks at once at a small folder', {}, { objects: 100_000, isDated: true }, 1],
    ['looks at once where objects are undated', {}, { objects: 100_001, isDated: false }, 1],
    ['looks at once behind an older release', {}, undefined, 1],
    ['looks at once if a person requested it', { trigger: 'api' }, { objects: 100_001, isDated: true }, 1],
  ] as const)(
    '%s',
    async (_, { trigger = 'arrival' }: { readonly trigger?: 'api' | 'arrival' }, look, objects) => {
      const declaration = declarationOf('digits');
      at.declare(DECLARATION.replace(', marker: _SUCCESS', ''));
      await keepClose(at.store, runOf('digits', 1), { closedAt: at0(), declaration, seen: 'x', look });
      await at.runs.create(runOf('digits', 2, { trigger, createdAt: at0() }));
      at.store.put(`${bucketKeys.incoming('digits')}a.png`, 'x', new Date(in0(-2)));
      const { until, observation } = await waiting();
      // S3 cuts the date down to a second.
      expect({ until, objects: observation?.objects ?? null }).toEqual({
        until: in0(objects === null ? 60 : 59),
        objects,
      });
      at.clock.advance(60);
      expect(await settleRun(at, { runId: 'digits-000002', observation })).toMatchObject({ kind: 'settled' });
    },
  );

  it('counts from the event that dates the newest arrival', async () => {
    const second = Math.ceil(at.clock.now().getTime() / 1_000) * 1_000;
    at.clock.set(new Date(second + 250));
    at.store.put(`${bucketKeys.incoming('digits')}a.png`, 'x', new Date(second));
    await wakeRun(at, { pipeline: 'digits', trigger: 'arrival', eventTime: new Date(second - 5_000) });
    await wakeRun(at, { pipeline: 'digits', trigger: 'arrival', eventTime: at.clock.now() });
    // Late, and older: it dates nothing.
    await wakeRun(at, { pipeline: 'digits', trigger: 'arrival', eventTime: new Date(second - 1) });
    const due = in0(60);
    at.clock.advance(5);
    expect(await settleRun(at, { runId: 'digits-000001' })).toMatchObject({ kind: 'wait', until: due });
  });

  it('looks at once if it waits for a marker', async () => {
    const look = { objects: 100_001, isDated: true };
    await keepClose(at.store, runOf('digits', 1), {
      closedAt: at0(),
      declaration: declarationOf('digits'),
      seen: 'x',
      look,
    });
    await open(2);
    at.drop('_SUCCESS');
    expect(await settleRun(at, { runId: 'digits-000002' })).toMatchObject({ kind: 'settled' });
  });

  it('answers the same again without reading another declaration', async () => {
    await open(1);
    at.drop('_SUCCESS');
    await settleRun(at, { runId: 'digits-000001' });
    const before = await at.runs.get('digits-000001');
    at.declare('name: broken');
    at.clock.advance(100);
    expect(await settleRun(at, { runId: 'digits-000001' })).toMatchObject({ kind: 'settled' });
    expect(await at.runs.get('digits-000001')).toEqual(before);
  });

  it('ignores the marker that closed the previous batch', async () => {
    await open(1);
    at.drop('_SUCCESS');
    at.clock.advance(1);
    await settleRun(at, { runId: 'digits-000001' });
    await at.runs.update('digits-000001', { status: 'succeeded', updatedAt: at0() });
    at.clock.advance(10);
    await open(2);
    at.drop('late.png');
    expect(await settleRun(at, { runId: 'digits-000002' })).toMatchObject({ kind: 'wait' });
    at.clock.advance(5);
    at.drop('_SUCCESS');
    expect(await settleRun(at, { runId: 'digits-000002' })).toMatchObject({ kind: 'settled' });
  });

  it.each(['settling', 'packing'] as const)('waits while its predecessor is %s', async (status) => {
    const before = await open(1);
    await at.runs.closeBatch(before, { at: at0(), declaration: declarationOf('digits') });
    await at.runs.update('digits-000001', { status, updatedAt: at0() });
    await open(2);
    at.drop('_SUCCESS');
    expect(await settleRun(at, { runId: 'digits-000002' })).toMatchObject({
      kind: 'wait',
      until: in0(10),
    });
    await at.runs.update('digits-000001', { status: 'placing', updatedAt: at0() });
    at.clock.advance(10);
    at.drop('_SUCCESS', 'again');
    expect(await settleRun(at, { runId: 'digits-000002' })).toMatchObject({ kind: 'settled' });
  });

  it('waits for a packing run behind a failed one', async () => {
    const packing = await open(1);
    await at.runs.closeBatch(packing, { at: at0(), declaration: declarationOf('digits') });
    const failed = await open(2);
    await at.runs.closeBatch(failed, { at: at0() });
    await at.runs.update('digits-000002', { status: 'failed', updatedAt: at0() });
    await open(3);
    at.clock.advance(5);
    at.drop('_SUCCESS');
    expect(await settleRun(at, { runId: 'digits-000003' })).toMatchObject({ kind: 'wait' });
  });

  it.each([
    ['api', false, true],
    ['arrival', true, false],
    ['schedule', false, false],
    ['schedule', true, true],
  ] as const)('by %s, trainWithoutNewData %s, trains anyway: %s', async (trigger, declared, expected) => {
    at.declare(
      `name: digits\ntraining: { strategy: ddp }\ncompute: { instanceTypes: [g5.xlarge] }\ntrainWithoutNewData: ${declared}\nsettle: { marker: _SUCCESS }`,
    );
    await at.runs.create(runOf('digits', 1, { trigger, createdAt: at0() }));
    at.drop('_SUCCESS');
    expect(await settleRun(at, { runId: 'digits-000001' })).toEqual({
      kind: 'settled',
      trainAnyway: expected,
      draws: false,
    });
  });

  it('fails for good with every problem of its declaration', async () => {
    await open(1);
    at.declare('name: letters\ntraining: { strategy: ddp }');
    await expect(settleRun(at, { runId: 'digits-000001' })).rejects.toMatchObject({
      name: 'InvalidPipelineError',
      message: expect.stringMatching(/compute.*name|name.*compute/s) as string,
    });
  });

  it('fails for good without the declaration, naming its key', async () => {
    await open(1);
    at.store.remove(bucketKeys.pipeline('digits'));
    await expect(settleRun(at, { runId: 'digits-000001' })).rejects.toThrow('pipelines/digits.yaml is gone');
  });

  it('is not made up for an unknown run', async () => {
    await expect(settleRun(at, { runId: 'digits-000009' })).rejects.toMatchObject({
      name: 'RunNotFoundError',
    });
  });
});

describe('code that changed', () => {
  /** Closes the batch by a new marker, and ends the run. */
  async function run(batch: number, status: 'succeeded' | 'failed' | 'empty', trigger?: 'schedule') {
    const runId = `digits-${String(batch).padStart(6, '0')}`;
    await open(batch);
    if (trigger) await at.runs.update(runId, { trigger, updatedAt: at0() });
    at.clock.advance(2);
    at.drop('_SUCCESS');
    const answer = await settleRun(at, { runId });
    at.clock.advance(1);
    // A repeated step answers the same, whatever the folder holds by then.
    await writeSource(`changed after ${runId}`);
    expect(await settleRun(at, { runId })).toEqual(answer);
    await at.runs.update(runId, { status, updatedAt: at0() });
    return answer;
  }
  const trains = { kind: 'settled', trainAnyway: true, draws: false };
  const trainsNot = { kind: 'settled', trainAnyway: false, draws: false };

  it('trains without new data', async () => {
    await writeSource('one');
    expect(await run(1, 'failed')).toEqual(trainsNot);
    await writeSource('two');
    expect(await run(2, 'succeeded')).toEqual(trains);
    await writeSource('two');
    expect(await run(3, 'empty')).toEqual(trainsNot);
    const [entry] = await at.timeline.list('digits-000002');
    expect(entry?.text).toContain('the source or the training is new');
  });

  it('counts from the last run that trained', async () => {
    await writeSource('one');
    await run(1, 'succeeded');
    await writeSource('two');
    expect(await run(2, 'empty', 'schedule')).toEqual(trainsNot);
    await writeSource('two');
    expect(await run(3, 'succeeded')).toEqual(trains);
  });

  it('is also another argument', async () => {
    await writeSource('one');
    await run(1, 'failed');
    await writeSource('one');
    const { training, compute } = declarationOf('digits');
    at.declare(
      JSON.stringify({
        name: 'digits',
        compute,
        settle: { marker: '_SUCCESS' },
        training: { ...training, arguments: ['x'] },
      }),
    );
    expect(await run(2, 'succeeded')).toEqual(trains);
  });

  it('is known no more where a table was lost', async () => {
    await writeSource('one');
    await run(1, 'failed');
    await at.store.delete(bucketKeys.closeRecord('digits', 'digits-000001'));
    await writeSource('two');
    expect(await run(2, 'empty')).toEqual(trainsNot);
  });

  it('trains at the first marker on channels alone', async () => {
    const { training, compute } = declarationOf('digits');
    const channels = { images: { s3: 's3://memory-bucket/digits/images/' } };
    at.declare(
      JSON.stringify({
        name: 'digits',
        compute,
        settle: { marker: '_SUCCESS' },
        training: { ...training, channels },
      }),
    );
    expect(await run(1, 'succeeded')).toEqual(trains);
  });
});
