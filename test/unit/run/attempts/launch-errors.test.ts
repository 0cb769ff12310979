/**
 * Every call of a launch answers every kind of error, once or always, through the state machine's steps with the real
 * adapters. The run starts or fails with AWS's own words, leaves nothing behind, and repeats nothing for ever.
 */
import { EC2Client } from '@aws-sdk/client-ec2';
import { SageMakerClient } from '@aws-sdk/client-sagemaker';
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { messageOf, TransientError } from '@tidewheel/kit/errors.ts';
import { describe, expect, it } from 'vitest';
import { makeFleetService } from '../../../../functions/aws/ec2/ec2-fleet-service.ts';
import { makeTrainingService } from '../../../../functions/aws/sagemaker/training-service.ts';
import { isNotSeenYet } from '../../../../functions/launch/ec2/fleet-result.ts';
import { awsErrorClass } from '../../../../functions/records/aws-error-class.ts';
import { FINISHED } from '../../../../functions/records/run-records.ts';
import { judgeRun } from '../../../../functions/run/attempts/judge-run.ts';
import { launchAttempt } from '../../../../functions/run/attempts/launch-attempt.ts';
import { place } from '../../../../functions/run/attempts/place.ts';
import { reconcile } from '../../../../functions/run/attempts/reconcile.ts';
import { endRun } from '../../../../functions/run/attempts/report-run.ts';
import { launchersOver } from '../../../support/builders/launchers.ts';
import { declarationOf, runOf } from '../../../support/builders/records.ts';
import { sealGeneration } from '../../../support/builders/sealed-generation.ts';
import { awsLaunches, CALLS, type Refusal } from '../../../support/fakes/aws-launches.ts';
import { marketSource, viewOf } from '../../../support/market/source.ts';
import { ground } from '../../../support/world/ground.ts';
import { EC2_ERROR_CODES } from '../../records/ec2-error-codes.ts';

const RUN = 'digits-000001';
const ZONES = ['use1-az1', 'use1-az2', 'use1-az4'];
/** Fewer than compose.ts has: how many there are decides nothing. */
const RETRIES = 2;

async function setUp(launcher: 'ec2' | 'sagemaker', retries = RETRIES) {
  const at = ground();
  const aws = awsLaunches(at.clock);
  const fleets = makeFleetService({ ec2: new EC2Client({}), store: at.store, clock: at.clock });
  const zones = ZONES.map((zoneId) => ({ zoneId, spotUsd: 0.4, score: 8 }));
  const deps = {
    ...at,
    market: marketSource(() => viewOf('g5.xlarge', zones, { onDemandUsd: 1.25 })),
    ...launchersOver({ training: makeTrainingService(new SageMakerClient({})), fleets }),
    region: 'us-east-1',
    publishAgent: () => Promise.resolve('agent/0a1b/'),
  };
  const now = at.clock.now().toISOString();
  const subnets = ZONES.map((zoneId) => ({ id: `subnet-${zoneId.replaceAll('-', '')}`, zoneId }));
  const vpc = { securityGroupIds: ['sg-01234567'], subnets };
  const ec2 = { image: 'ami-0123456789abcdef0' };
  const compute = { instanceTypes: ['g5.xlarge'], nodes: 2, vpc, ec2, launcher };
  const declaration = declarationOf('digits', {
    compute,
    limits: { deadlineHours: 4, maximumRunSeconds: 1_800, attempts: 4 },
  });
  await at.pipelines.ensure('digits', { firstBatch: 1, at: now });
  await at.runs.create(runOf('digits', 1, { createdAt: now, updatedAt: now }));
  await at.runs.closeBatch(runOf('digits', 1), { at: now, declaration });
  await sealGeneration(at.store, RUN);
  at.store.put(`${bucketKeys.source('digits')}train.py`, 'pass');
  await at.executions.start({ runId: RUN, pipeline: 'digits', execution: 1 });
  return { deps, aws, retries };
}
type Setting = Awaited<ReturnType<typeof setUp>>;

class Exhausted extends Error {}

/** A state with the retries of the state machine. */
async function state<T>({ deps, retries }: Setting, act: () => Promise<T>): Promise<T> {
  for (let done = 0; ; done += 1) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof TransientError)) throw error;
      if (done === retries) throw new Exhausted(error.message);
      deps.clock.advance(Math.min(60, 2 ** (done + 1)));
    }
  }
}

/** @returns whether the attempt has a job now */
async function launched(setting: Setting, attempt: number): Promise<boolean> {
  const { deps } = setting;
  const taskToken = `token-${attempt}`;
  deps.executions.wait(`${RUN}-x${(await deps.runs.get(RUN))?.execution}`, taskToken);
  await state(setting, () => launchAttempt(deps, { runId: RUN, attempt, taskToken })).catch(
    (error: unknown) => {
      // Step Functions has gone on when its token was answered, whatever the function does then.
      if (!deps.executions.answers.has(taskToken)) throw error;
    },
  );
  return (await deps.attempts.get(RUN, attempt))?.outcome === undefined;
}

/** One execution: until a job runs or the run has a verdict. */
async function execution(setting: Setting): Promise<'runs' | 'over'> {
  const { deps } = setting;
  for (let attempts = 0; attempts < 100; attempts += 1) {
    const judged = await state(setting, () => judgeRun(deps, { runId: RUN }));
    if (judged.kind === 'wait') {
      deps.clock.advance(judged.seconds);
      continue;
    }
    if (judged.kind !== 'place' && judged.kind !== 'relaunch') {
      await state(setting, () => endRun(deps, { runId: RUN, judgement: judged }));
      return 'over';
    }
    const placed =
      judged.kind === 'place'
        ? await state(setting, () => place(deps, { runId: RUN }))
        : { ...judged, kind: 'launch' as const };
    if (placed.kind === 'giveUp') {
      await state(setting, () =>
        endRun(deps, { runId: RUN, judgement: { kind: 'failed', reason: placed.reason } }),
      );
      return 'over';
    }
    if (placed.kind === 'wait') {
      deps.clock.advance(placed.seconds);
      continue;
    }
    if (await launched(setting, placed.attempt)) return 'runs';
  }
  throw new Error('the run goes round for ever');
}

/** Executions one after the other, as reconcile starts them. @param most then the refusal passes */
async function live(setting: Setting, most: number): Promise<'runs' | 'over'> {
  const { deps, aws } = setting;
  for (let number = 1; number <= most + 3; number += 1) {
    if (number > most) aws.refuse();
    try {
      return await execution(setting);
    } catch (error) {
      const isExhausted = error instanceof Exhausted;
      const run = await deps.runs.get(RUN);
      if (!isExhausted) {
        const Cause = JSON.stringify({ errorMessage: messageOf(error) });
        const report = () =>
          endRun(deps, { runId: RUN, error: { Error: error instanceof Error ? error.name : '', Cause } });
        const isReported = await state(setting, report).then(
          () => true,
          () => false,
        );
        if (isReported) return 'over';
      }
      deps.executions.end(`${RUN}-x${run?.execution}`, isExhausted ? 'retriesExhausted' : 'ended');
      deps.clock.advance(300);
      await reconcile(deps, { sweep: true });
      if (FINISHED.includes((await deps.runs.get(RUN))?.status ?? 'failed')) return 'over';
    }
  }
  throw new Error('the run goes round for ever');
}

/** A person stops what runs. The refusal lasts for an hour more; then the hourly sweeps remove what is left. */
async function clear({ deps, aws }: Setting): Promise<void> {
  const at = deps.clock.now().toISOString();
  const run = await deps.runs.get(RUN);
  if (run !== undefined && !FINISHED.includes(run.status))
    await deps.runs.update(RUN, {
      stop: { at, requestedBy: 'a person', mode: 'now', execution: run.execution },
      updatedAt: at,
    });
  for (let hour = 0; hour < 2; hour += 1) {
    deps.clock.advance(3_600);
    await reconcile(deps, { sweep: true });
    aws.refuse();
  }
}

/** One name for each meaning that an error can have for a launch, and one that is unknown. */
const meanings = (names: readonly string[]): readonly string[] => {
  const known = new Map<string, string>();
  for (const name of names) known.set(isNotSeenYet(name) ? 'not seen yet' : awsErrorClass({ name }), name);
  return [...known.values()];
};
const EC2_NAMES = meanings([...EC2_ERROR_CODES.map(([code]) => code), 'CarrierUnavailable']);
const SAGEMAKER_NAMES = meanings([
  'AccessDeniedException',
  'ExpiredTokenException',
  'InternalFailure',
  'NeverHeardOfIt',
  'ResourceInUse',
  'ResourceLimitExceeded',
  'ResourceNotFound',
  'ThrottlingException',
  'ValidationException',
]);

const CASES: readonly Refusal[] = [
  ...CALLS.ec2.flatMap((call) => EC2_NAMES.map((name) => ({ call, name }))),
  ...(['answered', 'partial'] as const).flatMap((how) =>
    EC2_NAMES.map((name) => ({ call: 'CreateFleet' as const, name, how })),
  ),
  ...CALLS.sagemaker.flatMap((call) => SAGEMAKER_NAMES.map((name) => ({ call, name }))),
];
const CLEAN_UP: ReadonlySet<string> = new Set([
  'TerminateInstances',
  'DeleteLaunchTemplate',
  'DeletePlacementGroup',
]);
const launcherOf = ({ call }: Refusal) => (CALLS.ec2.some((each) => each === call) ? 'ec2' : 'sagemaker');

async function lives(refusal: Refusal, executions: number) {
  const setting = await setUp(launcherOf(refusal));
  // Something to clean up.
  const first: Refusal = { call: 'CreateFleet', name: 'UnfulfillableCapacity', how: 'partial', times: 1 };
  setting.aws.refuse(...(CLEAN_UP.has(refusal.call) ? [first] : []), refusal);
  const end = await live(setting, executions);
  const calls = setting.aws.calls();
  const running = setting.aws.running();
  const run = await setting.deps.runs.get(RUN);
  const attempts = (await setting.deps.attempts.list(RUN)).length;
  await clear(setting);
  return { end, calls, running, run, attempts, left: setting.aws.left() };
}

/** What is not as it should be. */
async function wrongs(refusal: Refusal): Promise<readonly string[]> {
  const { end, calls, running, run, left, attempts } = await lives(refusal, 3);
  const isUndecided = UNDECIDED.has(awsErrorClass({ name: refusal.name })) && !isNotSeenYet(refusal.name);
  const checks: readonly (readonly [boolean, string])[] = [
    [end === 'runs' && running === 0, 'seems to run'],
    [end === 'over' && run?.status !== 'failed', `is ${run?.status}`],
    [end === 'over' && !run?.failure?.includes(refusal.name), `fails with "${run?.failure}"`],
    [end === 'over' && isUndecided && attempts < 2, 'is fatal at first sight'],
    [calls > 100, `made ${calls} calls`],
    [left.length > 0, `left ${left.join(', ')}`],
  ];
  return [end, ...checks.flatMap(([isWrong, what]) => (isWrong ? [what] : []))];
}
const UNDECIDED: ReadonlySet<string> = new Set(['unknown', 'state', 'unsupported']);

describe('a run whose launch AWS refuses', () => {
  it('starts or fails in its words, and leaves nothing', async () => {
    const ends = new Map<string | undefined, number>();
    const wrong: string[] = [];
    for (const refusal of CASES) {
      const { call, name, how = 'thrown' } = refusal;
      const [end, ...found] = await wrongs(refusal).catch((error: unknown) => ['lost', messageOf(error)]);
      ends.set(end, (ends.get(end) ?? 0) + 1);
      wrong.push(...found.map((what) => `${call} ${how} ${name}: ${what}`));
    }
    expect(wrong).toEqual([]);
    expect(ends.get('over')).toBeGreaterThan(30);
    expect(ends.get('runs')).toBeGreaterThan(30);
  }, 120_000);

  it('for good says so within minutes, and ends', async () => {
    const setting = await setUp('ec2', 0);
    const { deps, aws } = setting;
    const began = deps.clock.now().getTime();
    aws.refuse({ call: 'CreateFleet', name: 'PendingVerification', how: 'answered' });
    expect(await live(setting, 400)).toBe('over');
    const said = (await deps.timeline.list(RUN)).find(({ kind }) => kind === 'LaunchDelayed');
    expect(said?.text).toMatch(/PendingVerification: its own words \(remedy: AWS verifies a new account/);
    expect(Date.parse(said?.at ?? '') - began).toBeLessThan(600_000);
    expect(await deps.runs.get(RUN)).toMatchObject({
      status: 'failed',
      failure: expect.stringMatching(/^300 executions.*PendingVerification/),
    });
    await clear(setting);
    expect(aws.left()).toEqual([]);
  }, 60_000);
});
