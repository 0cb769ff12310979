import { describe, expect, it } from 'vitest';
import type { FleetService } from '../../../functions/core/launch/ec2/fleet-service.ts';
import type {
  TrainingJobDescription,
  TrainingService,
} from '../../../functions/core/launch/job/training-service.ts';
import { type AttemptRequest, buildAttempt, makeLauncher } from '../../../functions/core/launch/launcher.ts';
import type { TrainingJobInput } from '../../../functions/core/launch/sagemaker/training-job.ts';
import { fleetInput } from '../../support/builders/fleet.ts';
import { declaration, launch } from '../../support/builders/launch.ts';

const job = (TrainingJobName: string): TrainingJobDescription => ({
  TrainingJobName,
  TrainingJobStatus: 'InProgress',
  SecondaryStatus: 'Training',
  CreationTime: new Date(0),
  SecondaryStatusTransitions: [],
});

/** A service that remembers names: enough to see which of the two was given a job. */
function remembering(): {
  readonly names: Set<string>;
  describe: TrainingService['describe'];
  stop: TrainingService['stop'];
} {
  const names = new Set<string>();
  return {
    names,
    describe: (name) => Promise.resolve(names.has(name) ? job(name) : undefined),
    stop: (name) => Promise.resolve(names.has(name) ? 'stopping' : 'notFound'),
  };
}

function services() {
  const [onSageMaker, onEc2] = [remembering(), remembering()];
  const training = {
    ...onSageMaker,
    create: ({ TrainingJobName }) => {
      onSageMaker.names.add(TrainingJobName);
      return Promise.resolve({ kind: 'created', arn: 'sagemaker' });
    },
  } satisfies TrainingService;
  const fleets = {
    ...onEc2,
    launch: ({ name }) => {
      onEc2.names.add(name);
      return Promise.resolve({ kind: 'created', arn: 'fleet' });
    },
    askToSave: () => Promise.resolve(),
    refill: () => Promise.resolve({ kind: 'none' }),
    release: () => Promise.resolve(),
    remains: () => Promise.resolve([...onEc2.names]),
    jobsOf: () => Promise.resolve(new Map()),
  } satisfies FleetService;
  return { onSageMaker, onEc2, launcher: makeLauncher({ training, fleets }) };
}

function attempt(input: TrainingJobInput): AttemptRequest {
  const made = buildAttempt(input);
  if (made.kind === 'problems') throw new Error(JSON.stringify(made.problems));
  return made;
}

const nameOf = (made: AttemptRequest): string =>
  made.kind === 'ec2' ? made.plan.name : made.request.TrainingJobName;

describe('an attempt', () => {
  it.each([
    ['sagemaker', launch()],
    ['sagemaker', launch({ declaration: declaration({ compute: { launcher: 'sagemaker' } }) })],
    ['ec2', fleetInput()],
  ] as const)('runs on %s as the pipeline says', async (kind, input) => {
    const made = attempt(input);
    expect(made.kind).toBe(kind);
    const { launcher, onSageMaker, onEc2 } = services();
    expect(await launcher.start(made)).toMatchObject({ kind: 'created' });
    expect([onSageMaker.names.size, onEc2.names.size]).toEqual(kind === 'ec2' ? [0, 1] : [1, 0]);
    expect(await launcher.describe(nameOf(made))).toMatchObject({ TrainingJobName: nameOf(made) });
    expect(await launcher.stop(nameOf(made))).toBe('stopping');
  });

  it('says how its shards are read', () => {
    expect(attempt(launch()).inputReason).toBe('File: the size of the shards is not known');
    expect(attempt(fleetInput()).inputReason).toContain('download');
  });

  it.each([launch({ generations: [] }), fleetInput({ over: { generations: [] } })])(
    'reports problems wherever it would run',
    (input) => {
      expect(buildAttempt(input)).toMatchObject({ kind: 'problems', problems: [{ path: 'generations' }] });
    },
  );

  it('is absent when neither service knows it', async () => {
    const { launcher } = services();
    expect(await launcher.describe('nobody')).toBeUndefined();
    expect(await launcher.stop('nobody')).toBe('notFound');
  });
});
