/** What every RunStore does: run on the fake and on DynamoDB. Each test uses pipelines of its own. */
import { describe, expect, it } from 'vitest';
import type { RunStore } from '../../../functions/core/runs/run-store.ts';
import {
  AT,
  attemptOf,
  declarationOf,
  outcomeOf,
  placementOf,
  progressOf,
  runOf,
  secondsAfter,
} from '../builders/records.ts';

const LATER = secondsAfter(60);

/** Runs `count` of an action at once and says how often each answer was given. */
async function raced<T extends string>(count: number, act: (index: number) => Promise<T>) {
  const answers = await Promise.all(Array.from({ length: count }, (_, index) => act(index)));
  return answers.reduce<Record<string, number>>((tally, each) => {
    tally[each] = (tally[each] ?? 0) + 1;
    return tally;
  }, {});
}

export function runStoreContract(name: string, open: () => Promise<RunStore>): void {
  describe(`${name} as a RunStore`, () => {
    pipelines(open);
    runs(open);
    closing(open);
    attempts(open);
    history(open);
    market(open);
  });
}

function pipelines(open: () => Promise<RunStore>): void {
  it('creates a pipeline once and answers the one that stands', async () => {
    const store = await open();
    const first = await store.ensurePipeline('pipe-once', { firstBatch: 3, at: AT });
    const second = await store.ensurePipeline('pipe-once', { firstBatch: 9, at: LATER });
    expect(first).toMatchObject({ name: 'pipe-once', openBatch: 3, valid: true });
    expect(second).toEqual(first);
    expect(await store.getPipeline('pipe-once')).toEqual(first);
  });

  it('answers undefined for a pipeline that is not on record', async () => {
    expect(await (await open()).getPipeline('pipe-never')).toBeUndefined();
  });

  it('keeps problems with a pipeline that is not valid and forgets them when it is', async () => {
    const store = await open();
    await store.ensurePipeline('pipe-bad', { firstBatch: 1, at: AT });
    const problems = [{ path: 'training', message: 'is missing' }];
    await store.setPipelineValidity('pipe-bad', { valid: false, problems, updatedAt: AT });
    expect(await store.getPipeline('pipe-bad')).toMatchObject({ valid: false, problems });
    await store.setPipelineValidity('pipe-bad', { valid: true, updatedAt: LATER });
    const mended = await store.getPipeline('pipe-bad');
    expect(mended).toMatchObject({ valid: true, updatedAt: LATER, openBatch: 1 });
    expect(mended?.problems).toBeUndefined();
  });

  it('says nothing of a pipeline that is not on record when its validity is set', async () => {
    const store = await open();
    await store.setPipelineValidity('pipe-unknown', { valid: true, updatedAt: AT });
    expect(await store.getPipeline('pipe-unknown')).toBeUndefined();
  });

  it('lists pipelines by name', async () => {
    const store = await open();
    for (const each of ['pipe-list-b', 'pipe-list-a']) {
      await store.ensurePipeline(each, { firstBatch: 1, at: AT });
    }
    const names = (await store.listPipelines()).map((each) => each.name);
    expect(names.filter((each) => each.startsWith('pipe-list'))).toEqual(['pipe-list-a', 'pipe-list-b']);
  });
}

function runs(open: () => Promise<RunStore>): void {
  it('creates a run once, however many try at once, and keeps the winner', async () => {
    const store = await open();
    const tally = await raced(12, (index) =>
      store.createRun(runOf('run-race', 1, { createdAt: secondsAfter(index) })),
    );
    expect(tally).toEqual({ created: 1, exists: 11 });
    expect(await store.createRun(runOf('run-race', 1, { execution: 7 }))).toBe('exists');
    expect((await store.getRun('run-race-000001'))?.execution).toBe(1);
  });

  it('returns a record without anything of its own', async () => {
    const store = await open();
    const run = runOf('run-bare', 1);
    await store.createRun(run);
    expect(await store.getRun(run.runId)).toEqual(run);
    expect(Object.keys((await store.getRun(run.runId)) ?? {}).sort()).toEqual(Object.keys(run).sort());
  });

  it('changes what is given, removes what is given as undefined, keeps the rest', async () => {
    const store = await open();
    await store.createRun(runOf('run-change', 1, { failure: 'old', generation: 'g' }));
    const changed = await store.updateRun('run-change-000001', {
      status: 'training',
      failure: undefined,
      updatedAt: LATER,
    });
    expect(changed).toMatchObject({ status: 'training', generation: 'g', updatedAt: LATER, createdAt: AT });
    expect(changed.failure).toBeUndefined();
    expect(await store.getRun('run-change-000001')).toEqual(changed);
  });

  it('refuses to change a run that is not on record', async () => {
    const store = await open();
    const change = store.updateRun('run-none-000001', { updatedAt: AT });
    await expect(change).rejects.toMatchObject({ name: 'RunNotFoundError' });
    expect(await store.getRun('run-none-000001')).toBeUndefined();
  });

  it('lists runs of one pipeline, newest first, up to the limit', async () => {
    const store = await open();
    for (const batch of [2, 1, 10, 3]) await store.createRun(runOf('run-list', batch));
    await store.createRun(runOf('run-listed', 1));
    const batchesOf = async (limit: number) =>
      (await store.listRuns('run-list', limit)).map((run) => run.batch);
    expect(await batchesOf(10)).toEqual([10, 3, 2, 1]);
    expect(await batchesOf(2)).toEqual([10, 3]);
  });

  it('lists open runs until they are finished, and never again', async () => {
    const store = await open();
    const isOpen = async () => (await store.listOpenRuns()).some((run) => run.pipeline === 'run-open');
    await store.createRun(runOf('run-open', 1));
    for (const status of ['packing', 'placing', 'training'] as const) {
      await store.updateRun('run-open-000001', { status, updatedAt: AT });
      expect(await isOpen()).toBe(true);
    }
    await store.updateRun('run-open-000001', { status: 'failed', updatedAt: LATER });
    expect(await isOpen()).toBe(false);
  });

  it('lists more open runs than one page of an index holds', async () => {
    const store = await open();
    // 60 runs of 30 kB are more than the 1 MB that one Query answers.
    const failure = 'x'.repeat(30_000);
    const batches = Array.from({ length: 60 }, (_, index) => index + 1);
    await Promise.all(batches.map((batch) => store.createRun(runOf('run-pages', batch, { failure }))));
    const listed = (await store.listOpenRuns()).filter((run) => run.pipeline === 'run-pages');
    expect(listed.map((run) => run.batch).sort((a, b) => a - b)).toEqual(batches);
    expect(await store.listRuns('run-pages', 55)).toHaveLength(55);
  }, 60_000);
}

function closing(open: () => Promise<RunStore>): void {
  it('closes a batch: pins the declaration, opens the next batch', async () => {
    const store = await open();
    await store.ensurePipeline('close-a', { firstBatch: 1, at: AT });
    const run = runOf('close-a', 1);
    await store.createRun(run);
    const closed = await store.closeBatch(run, { at: LATER, declaration: declarationOf('close-a') });
    expect(closed).toMatchObject({ closedAt: LATER, status: 'packing', declaration: { name: 'close-a' } });
    expect(await store.getRun(run.runId)).toEqual(closed);
    expect(await store.getPipeline('close-a')).toMatchObject({ openBatch: 2, closedAt: LATER });
  });

  it('keeps what was seen at the close until a close that saw nothing', async () => {
    const store = await open();
    await store.ensurePipeline('close-seen', { firstBatch: 1, at: AT });
    for (const batch of [1, 2]) await store.createRun(runOf('close-seen', batch));
    const declaration = declarationOf('close-seen');
    await store.closeBatch(runOf('close-seen', 1), { at: LATER, declaration, seen: 'a1b2' });
    expect((await store.getPipeline('close-seen'))?.seen).toBe('a1b2');
    await store.closeBatch(runOf('close-seen', 2), { at: LATER });
    expect((await store.getPipeline('close-seen'))?.seen).toBeUndefined();
  });

  it('changes nothing when a batch is closed a second time', async () => {
    const store = await open();
    await store.ensurePipeline('close-b', { firstBatch: 1, at: AT });
    const run = runOf('close-b', 1);
    await store.createRun(run);
    const first = await store.closeBatch(run, { at: LATER, declaration: declarationOf('close-b') });
    const other = declarationOf('close-b', { limits: { attempts: 1 } });
    expect(await store.closeBatch(run, { at: secondsAfter(999), declaration: other })).toEqual(first);
    expect(await store.getPipeline('close-b')).toMatchObject({ openBatch: 2, closedAt: LATER });
  });

  it('closes a batch once, however many try at once', async () => {
    const store = await open();
    await store.ensurePipeline('close-c', { firstBatch: 1, at: AT });
    const run = runOf('close-c', 1);
    await store.createRun(run);
    const tries = Array.from({ length: 8 }, (_, index) =>
      store.closeBatch(run, { at: secondsAfter(index + 1), declaration: declarationOf('close-c') }),
    );
    // A conflict of transactions may be thrown, as something to try again; it is no second close.
    const answers = (await Promise.allSettled(tries)).flatMap((each) =>
      each.status === 'fulfilled' ? [each.value] : [],
    );
    expect(answers.length).toBeGreaterThan(0);
    const pipeline = await store.getPipeline('close-c');
    expect(pipeline?.openBatch).toBe(2);
    expect(new Set([...answers.map((each) => each.closedAt), pipeline?.closedAt]).size).toBe(1);
  });

  it('closes without a declaration, as a run that failed before does', async () => {
    const store = await open();
    await store.ensurePipeline('close-d', { firstBatch: 4, at: AT });
    const run = runOf('close-d', 4);
    await store.createRun(run);
    const closed = await store.closeBatch(run, { at: LATER });
    expect(closed).toMatchObject({ closedAt: LATER, status: 'settling' });
    expect(closed.declaration).toBeUndefined();
    expect((await store.getPipeline('close-d'))?.openBatch).toBe(5);
  });
}

function attempts(open: () => Promise<RunStore>): void {
  it('creates an attempt once, however many try at once', async () => {
    const store = await open();
    const tally = await raced(8, (index) =>
      store.createAttempt(attemptOf('att-race-000001', 1, { taskToken: `token-${index}` })),
    );
    expect(tally).toEqual({ created: 1, exists: 7 });
  });

  it('finds an attempt by its job', async () => {
    const store = await open();
    const attempt = attemptOf('att-find-000001', 2, { taskToken: 't', progressBefore: progressOf(7) });
    await store.createAttempt(attempt);
    expect(await store.findAttemptByJob(attempt.jobName)).toEqual(attempt);
    expect(await store.getAttempt('att-find-000001', 2)).toEqual(attempt);
    expect(await store.findAttemptByJob('somebody-elses-job')).toBeUndefined();
    expect(await store.getAttempt('att-find-000001', 3)).toBeUndefined();
  });

  it('lists attempts oldest first, beyond nine and beyond a page', async () => {
    const store = await open();
    const message = 'y'.repeat(30_000);
    const numbers = Array.from({ length: 45 }, (_, index) => index + 1);
    await Promise.all(
      numbers.map((each) =>
        store.createAttempt(
          attemptOf('att-list-000001', each, { outcome: outcomeOf('capacity', { message }) }),
        ),
      ),
    );
    const listed = await store.listAttempts('att-list-000001');
    expect(listed.map((each) => each.attempt)).toEqual(numbers);
  }, 60_000);

  it('returns the whole attempt after a change, the newest token with it', async () => {
    const store = await open();
    await store.createAttempt(attemptOf('att-token-000001', 1, { taskToken: 'first' }));
    await store.updateAttempt('att-token-000001', 1, { taskToken: 'second', updatedAt: AT });
    const ended = await store.updateAttempt('att-token-000001', 1, {
      outcome: outcomeOf('completed'),
      status: 'done',
      updatedAt: LATER,
    });
    expect(ended).toMatchObject({ taskToken: 'second', status: 'done', outcome: { kind: 'completed' } });
  });

  it('lists open attempts until they have an outcome', async () => {
    const store = await open();
    const isOpen = async () =>
      (await store.listOpenAttempts()).some(({ runId }) => runId === 'att-open-000001');
    await store.createAttempt(attemptOf('att-open-000001', 1));
    await store.updateAttempt('att-open-000001', 1, { status: 'running', updatedAt: AT });
    await store.updateAttempt('att-open-000001', 1, { takenBackAt: AT, updatedAt: AT });
    expect(await isOpen()).toBe(true);
    await store.updateAttempt('att-open-000001', 1, {
      status: 'interrupted',
      outcome: outcomeOf('interrupted'),
      updatedAt: LATER,
    });
    expect(await isOpen()).toBe(false);
    await store.updateAttempt('att-open-000001', 1, { progressAfter: progressOf(3), updatedAt: LATER });
    expect(await isOpen()).toBe(false);
  });

  it('refuses to change an attempt that is not on record', async () => {
    const change = (await open()).updateAttempt('att-none-000001', 1, { updatedAt: AT });
    await expect(change).rejects.toMatchObject({ name: 'RunNotFoundError' });
  });
}

function history(open: () => Promise<RunStore>): void {
  it('keeps the newest decision of each attempt, in order', async () => {
    const store = await open();
    const wait = { kind: 'wait', seconds: 60, reason: 'no capacity', considered: [] } as const;
    const launch = { kind: 'launch', placement: placementOf() } as const;
    await store.putPlacement('his-a-000001', 2, wait);
    await store.putPlacement('his-a-000001', 1, wait);
    await store.putPlacement('his-a-000001', 2, launch);
    expect(await store.listPlacements('his-a-000001')).toEqual([
      { attempt: 1, decision: wait },
      { attempt: 2, decision: launch },
    ]);
  });

  it('lists the timeline by time; what was written first under an id stands', async () => {
    const store = await open();
    const entry = (id: string, seconds: number, text: string) =>
      store.addTimeline('his-b-000001', { id, at: secondsAfter(seconds), kind: 'Note', text });
    await entry('late', 20, 'late');
    await entry('early', 10, 'early');
    await entry('late', 5, 'changed');
    const texts = (await store.listTimeline('his-b-000001')).map((each) => each.text);
    expect(texts).toEqual(['early', 'late']);
  });

  it('keeps the runs apart, also where one name begins another', async () => {
    const store = await open();
    await store.addTimeline('his-c-000001', { id: 'a', at: AT, kind: 'Note', text: 'mine' });
    expect(await store.listTimeline('his-c-00000')).toEqual([]);
    expect(await store.listPlacements('his-c-000001')).toEqual([]);
  });
}

function market(open: () => Promise<RunStore>): void {
  const sample = { family: 'g5', zoneId: 'use1-az4', zoneName: 'us-east-1d', spotUsd: { 'g5.xlarge': 0.4 } };
  const look = (at: string, scores: Record<string, number>) => ({ ...sample, at, scores, onDemandUsd: {} });

  it('keeps what the market said by family and zone, the newest look of a step', async () => {
    const store = await open();
    await store.putSample(look(LATER, { '2 x g5.xlarge': 7 }));
    await store.putSample(look(AT, { '2 x g5.xlarge': 3 }));
    await store.putSample(look(LATER, { '2 x g5.xlarge': 8 }));
    expect(await store.listSamples('g5', 'use1-az4', AT)).toEqual([
      look(AT, { '2 x g5.xlarge': 3 }),
      look(LATER, { '2 x g5.xlarge': 8 }),
    ]);
    expect(await store.listSamples('g5', 'use1-az4', secondsAfter(1))).toHaveLength(1);
    expect(await store.listSamples('g5', 'use1-az1', AT)).toEqual([]);
  });

  it('keeps once what an attempt met, whoever says it, and finds it by family and time', async () => {
    const store = await open();
    const met = {
      runId: 'met-000001',
      attempt: 1,
      instanceType: 'p9x.large',
      launcher: 'sagemaker',
      purchaseOption: 'spot',
      nodes: 2,
      askedAt: AT,
      endedAt: LATER,
      end: 'refused',
    } as const;
    await store.putEncounter(met);
    await store.putEncounter(met);
    await store.putEncounter({ ...met, instanceType: 'p9.large', attempt: 2 });
    expect(await store.listEncounters('p9x', AT)).toEqual([met]);
    expect(await store.listEncounters('p9x', secondsAfter(61))).toEqual([]);
  });

  it('holds the last list prices of a region', async () => {
    const store = await open();
    const prices = [{ instanceType: 'g5.xlarge', hourlyUsd: 1.41, effective: '2026-11-01' }];
    expect(await store.getListPrices('us-east-1')).toBeUndefined();
    await store.putListPrices({ region: 'us-east-1', at: AT, asked: ['g5.xlarge'], prices: [] });
    const last = { region: 'us-east-1', at: LATER, asked: ['g5.xlarge', 'p9.large'], prices };
    await store.putListPrices(last);
    expect(await store.getListPrices('us-east-1')).toEqual(last);
    expect(await store.getListPrices('us-west-2')).toBeUndefined();
  });

  it('holds the hardware that was last read', async () => {
    const store = await open();
    expect(await store.getHardware()).toBeUndefined();
    const facts = {
      type: 'g9.xlarge',
      vcpu: 4,
      memoryGib: 16,
      accelerator: 'B400',
      acceleratorCount: 1,
      networkBaselineGbps: 2.5,
      networkBurstGbps: 10,
      efa: false,
      nvmeGb: 0,
      arch: 'x86_64',
    };
    const hardware = { region: 'us-east-1', at: AT, asked: ['g9.xlarge'], facts: [], refused: [] };
    await store.putHardware(hardware);
    const last = { ...hardware, at: LATER, facts: [{ facts, readAt: LATER }] };
    await store.putHardware(last);
    expect(await store.getHardware()).toEqual(last);
  });

  it('knows a question asked again by its last time', async () => {
    const store = await open();
    await store.putQuestion({ key: '1 x a b c', at: AT });
    await store.putQuestion({ key: '1 x a b c', at: LATER });
    await store.putQuestion({ key: '2 x a b c', at: AT });
    expect(await store.listQuestions(secondsAfter(1))).toEqual([{ key: '1 x a b c', at: LATER }]);
  });
}
