import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { expect, it } from 'vitest';
import { diagnose as described } from '../../../../../functions/handlers/diagnose/function.ts';
import { diagnoseAttempts } from '../../../../../functions/run/attempts/doctor/diagnose-attempts.ts';
import { judgeRun } from '../../../../../functions/run/attempts/judge-run.ts';
import { launchAttempt } from '../../../../../functions/run/attempts/launch-attempt.ts';
import { reconcile } from '../../../../../functions/run/attempts/reconcile.ts';
import { reportRun } from '../../../../../functions/run/attempts/report-run.ts';
import { evidenceOf } from '../../../../support/builders/evidence.ts';
import { declarationOf, launchOf, runOf } from '../../../../support/builders/records.ts';
import { sealGeneration } from '../../../../support/builders/sealed-generation.ts';
import type { JobScript } from '../../../../support/fakes/training.ts';
import { ground } from '../../../../support/world/ground.ts';

const RUN = 'digits-000001';
const STARVED = { type: 'g5.xlarge', shares: { wait: 0.6, compute: 0.4 }, workers: 1, workerBusy: 1 };

async function launched(job?: JobScript) {
  const at = ground(job);
  const now = at.clock.now().toISOString();
  await at.pipelines.ensure('digits', { firstBatch: 1, at: now });
  await at.runs.create(runOf('digits', 1));
  await at.runs.closeBatch(runOf('digits', 1), { at: now, declaration: declarationOf('digits') });
  const pool = { instanceType: 'g5.xlarge', launcher: 'sagemaker', purchaseOption: 'spot' } as const;
  await at.placements.put(RUN, 1, launchOf({ pool, topology: { nodes: 1, acceleratorsPerNode: 1 } }));
  await sealGeneration(at.store, RUN);
  const deps = { ...at, region: 'us-east-1', publishAgent: () => Promise.resolve('agent/0a1b/') };
  await launchAttempt(deps, { runId: RUN, attempt: 1, taskToken: 'token-1' });
  const verdicts = async () => (await at.timeline.list(RUN)).filter(({ kind }) => kind === 'DoctorVerdict');
  const write = (means: Parameters<typeof evidenceOf>[0], lines = Number.POSITIVE_INFINITY) =>
    at.store.put(
      `${bucketKeys.evidence('digits', RUN)}1-algo-1.jsonl`,
      `${evidenceOf(means)
        .points.slice(0, lines)
        .map((point) => JSON.stringify(point))
        .join('\n')}\n{"at": "cut`,
    );
  return { ...at, verdicts, write, look: () => diagnoseAttempts(at) };
}

it('waits for two minutes of steps', async () => {
  const at = await launched();
  at.write([STARVED], 11);
  at.pass(300);
  await at.look();
  expect(await at.verdicts()).toEqual([]);
});

it('says its first verdict within three minutes of steps', async () => {
  const at = await launched();
  const [minutes] = JSON.stringify(described.events).match(/(?<=rate\()\d+(?= minutes?\))/) ?? [];
  const firstAfter = async (tenSeconds: number): Promise<number> => {
    at.write([STARVED], tenSeconds);
    await at.look();
    if ((await at.verdicts()).length > 0) return tenSeconds * 10;
    at.pass(Number(minutes) * 60);
    return firstAfter(tenSeconds + Number(minutes) * 6);
  };
  // The worst case: a look just before the second minute is over.
  expect(await firstAfter(11)).toBeLessThanOrEqual(180);
});

it('asks an attempt with a verdict every five minutes', async () => {
  const at = await launched();
  at.write([STARVED]);
  const asked: number[] = [];
  for (let minute = 0; minute <= 10; minute++) {
    if ((await at.look()).diagnosed.length > 0) asked.push(minute);
    at.pass(60);
  }
  expect(asked).toEqual([0, 5, 10]);
});

it('records the seconds to the first step', async () => {
  const at = await launched();
  at.write([STARVED]);
  await at.look();
  expect((await at.attempts.get(RUN, 1))?.diagnosis?.start).toBeUndefined();
  const phases = { download: null, install: 2, scriptStart: 5, firstBatch: 1, firstStep: 0.5 };
  const start = { startedAt: at.clock.now().toISOString(), phases, hooks: { kind: 'on' }, lines: {} };
  at.store.put(`${bucketKeys.evidence('digits', RUN)}1-algo-1-phases.json`, JSON.stringify(start));
  at.pass(300);
  await at.look();
  const diagnosis = (await at.attempts.get(RUN, 1))?.diagnosis;
  expect(diagnosis?.start).toEqual({ requirements: 2, resume: 5, firstStep: 1.5 });
});

it('leaves what is left to the next pass', async () => {
  const at = await launched();
  at.write([STARVED]);
  const clock = {
    now: () => {
      at.pass(46);
      return at.clock.now();
    },
  };
  expect(await diagnoseAttempts({ ...at, clock })).toEqual({ diagnosed: [], failures: [] });
  expect((await at.look()).diagnosed).toHaveLength(1);
});

it('reads no points of a pipeline without hooks', async () => {
  const at = await launched();
  const declaration = declarationOf('digits', { training: { strategy: 'ddp', instrument: false } });
  await at.runs.update(RUN, { declaration, updatedAt: at.clock.now().toISOString() });
  at.write([STARVED]);
  expect((await at.look()).diagnosed).toEqual([]);
});

it('announces each change of the first verdict once', async () => {
  const at = await launched();
  at.write([STARVED]);
  at.pass(300);
  const { diagnosed } = await at.look();
  expect(diagnosed).toMatchObject([{ pipeline: 'digits', diagnosis: { speed: { samplesPerSecond: 320 } } }]);
  at.pass(300);
  await at.look();
  const first = await at.verdicts();
  expect(first.map(({ id }) => id)).toEqual(['doctor-1-1-too-few-workers']);
  expect(first[0]?.text).toMatch(/would save \d+ to \d+ s and \$0\.\d{4} to 0\.\d{4} over the job/);
  at.write([{ type: 'g5.xlarge' }]);
  at.pass(300);
  await at.look();
  expect((await at.verdicts()).map(({ id }) => id)).toEqual([
    'doctor-1-1-too-few-workers',
    'doctor-1-2-nothing-wrong',
  ]);
  expect(at.notifier.notices.filter(({ notice }) => notice.type === 'DoctorVerdict')).toHaveLength(2);
});

it('names the line that a host has noted', async () => {
  const at = await launched();
  at.write([STARVED]);
  const phases = { download: null, install: 1, scriptStart: 2, firstBatch: 3, firstStep: 4 };
  const start = { startedAt: '2026-01-01T00:00:00Z', phases, hooks: { kind: 'on' } };
  const name = `${bucketKeys.evidence('digits', RUN)}1-algo-1-phases.json`;
  at.store.put(name, JSON.stringify({ ...start, lines: { loader: 'train.py:42 main' } }));
  at.pass(300);
  await at.look();
  expect((await at.verdicts())[0]?.text).toContain('train.py:42 main: DataLoader(…, num_workers=');
});

it('reports speed and verdicts of each attempt and topology', async () => {
  const at = await launched([
    { at: 0, status: 'InProgress', secondary: 'Training' },
    { at: 100, status: 'Failed', secondary: 'Failed', reason: 'AlgorithmError: ExecuteUserScriptError' },
  ]);
  at.write([STARVED], 8);
  at.pass(200);
  await judgeRun(at, { runId: RUN });
  await diagnoseAttempts(at, RUN);
  const report = await reportRun(at, RUN, { kind: 'failed', reason: 'the script failed' });
  expect(report.attempts).toMatchObject([
    { speed: { stepSeconds: { median: 0.2 } }, verdicts: [{ cause: 'too-few-workers' }] },
  ]);
  expect(report.speeds).toMatchObject([{ topology: '1 x g5.xlarge', attempts: [1], samplesPerSecond: 320 }]);
});

it('has the next attempt start with what is safe', async () => {
  const at = await launched([
    { at: 0, status: 'InProgress', secondary: 'Training' },
    { at: 100, status: 'Failed', secondary: 'Failed', reason: 'InternalServerError: a host failed' },
  ]);
  const declaration = declarationOf('digits', {
    doctor: { apply: 'safe' },
    training: { strategy: 'ddp', inputMode: 'FastFile' },
  });
  await at.runs.update(RUN, { declaration, updatedAt: at.clock.now().toISOString() });
  await at.attempts.update(RUN, 1, {
    input: { mode: 'FastFile', shards: 3, bytes: 3e6 },
    updatedAt: at.clock.now().toISOString(),
  });
  at.write([{ ...STARVED, cpu: { workers: 0.2 }, received: 1.25e9 }], 8);
  at.pass(200);
  expect(await judgeRun(at, { runId: RUN })).toMatchObject({ kind: 'place' });
  await diagnoseAttempts(at, RUN);
  const placed = (await at.placements.list(RUN))[0]?.decision;
  if (placed === undefined) throw new Error('nothing was placed');
  await at.placements.put(RUN, 2, placed);
  const deps = { ...at, region: 'us-east-1', publishAgent: () => Promise.resolve('agent/0a1b/') };
  await launchAttempt(deps, { runId: RUN, attempt: 2, taskToken: 'token-2' });
  expect(await at.attempts.get(RUN, 2)).toMatchObject({
    input: { mode: 'File' },
    applied: [{ kind: 'input-mode', inputMode: 'File' }],
  });
  const timeline = await at.timeline.list(RUN);
  expect(timeline.map(({ kind }) => kind)).toContain('DoctorApplied');
  expect(timeline.find(({ id }) => id === 'started-2')?.text).toContain('File: as the doctor advised');
});

it('diagnoses an ended attempt once', async () => {
  const at = await launched([
    { at: 0, status: 'InProgress', secondary: 'Training' },
    { at: 100, status: 'Failed', secondary: 'Failed', reason: 'InternalServerError: a host failed' },
  ]);
  at.write([STARVED], 8);
  await diagnoseAttempts(at, RUN);
  expect((await at.attempts.get(RUN, 1))?.diagnosis).toBeUndefined();
  at.pass(200);
  await judgeRun(at, { runId: RUN });
  await diagnoseAttempts(at, RUN);
  const first = (await at.attempts.get(RUN, 1))?.diagnosis;
  expect(first).toMatchObject({ isFinal: true, verdicts: [{ cause: 'too-few-workers' }] });
  at.pass(900);
  await diagnoseAttempts(at, RUN);
  expect((await at.attempts.get(RUN, 1))?.diagnosis).toEqual(first);
});

it('diagnoses the others when one attempt fails', async () => {
  const at = await launched();
  at.write([STARVED]);
  const store = { ...at.store, readText: () => Promise.reject(new Error('S3 is away')) };
  expect(await diagnoseAttempts({ ...at, store })).toMatchObject({
    diagnosed: [],
    failures: [expect.stringContaining('S3 is away')],
  });
});

it('counts the phases that a look has recorded', async () => {
  const at = await launched([
    { at: 0, status: 'InProgress', secondary: 'Downloading' },
    { at: 90, status: 'InProgress', secondary: 'Training' },
  ]);
  at.pass(300);
  await reconcile(at, { sweep: false });
  expect((await at.attempts.get(RUN, 1))?.startUp).toMatchObject({ download: 90 });
});
