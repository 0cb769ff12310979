import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { isTerminal } from '../../../functions/launch/job/job-state.ts';
import { outcomeOf } from '../../../functions/launch/job/outcome.ts';
import { mustRecall, waitsForCapacity } from '../../../functions/launch/job/recall.ts';
import type {
  StatusTransition,
  TrainingJobDescription,
} from '../../../functions/launch/job/training-service.ts';

const at = (seconds: number): Date => new Date(1_790_000_000_000 + seconds * 1_000);

const went = (...statuses: string[]): StatusTransition[] =>
  statuses.map((Status, index) => ({ Status, StartTime: at(index * 100), EndTime: at(index * 100 + 100) }));

const job = (over: Partial<TrainingJobDescription>): TrainingJobDescription => ({
  TrainingJobName: 'digits-000001-a1-abcdef',
  TrainingJobStatus: 'InProgress',
  SecondaryStatus: 'Training',
  EnableManagedSpotTraining: true,
  CreationTime: at(0),
  SecondaryStatusTransitions: [],
  ...over,
});

const started = {
  TrainingStartTime: at(100),
  TrainingEndTime: at(700),
  TrainingTimeInSeconds: 600,
  BillableTimeInSeconds: 200,
};
const failed = (FailureReason: string | undefined, over: Partial<TrainingJobDescription> = {}) =>
  outcomeOf(job({ TrainingJobStatus: 'Failed', SecondaryStatus: 'Failed', FailureReason, ...over })).kind;
const stopped = (SecondaryStatus: string, over: Partial<TrainingJobDescription> = {}) =>
  outcomeOf(job({ TrainingJobStatus: 'Stopped', SecondaryStatus, ...over })).kind;

describe('outcomeOf', () => {
  it('reads a completed job with one interruption', () => {
    const outcome = outcomeOf(
      job({
        ...started,
        TrainingJobStatus: 'Completed',
        SecondaryStatus: 'Completed',
        SecondaryStatusTransitions: went(
          'Starting',
          'Downloading',
          'Training',
          'Interrupted',
          'Starting',
          'Training',
          'Uploading',
          'Completed',
        ),
        ModelArtifacts: { S3ModelArtifacts: 's3://b/model.tar.gz' },
      }),
    );
    expect(outcome).toEqual({
      kind: 'completed',
      message: 'training completed',
      startedAt: at(100).toISOString(),
      scriptStartedAt: at(200).toISOString(),
      startUp: { hosts: 100, download: 0, image: 0 },
      endedAt: at(700).toISOString(),
      trainingSeconds: 600,
      billableSeconds: 200,
      interruptions: 1,
      modelUri: 's3://b/model.tar.gz',
    });
  });

  it.each([
    [
      'AlgorithmError: Interrupted: host algo-2 was lost; its agent answers no more, exit code: 143',
      'interrupted',
    ],
    ['AlgorithmError: stopped by a signal, exit code: 143', 'interrupted'],
    [
      'AlgorithmError: The script hung (no host computed or printed); step 4 is safe, exit code: 143',
      'recalled',
    ],
    ['AlgorithmError: The script hung (no host computed or printed) (exit code 143 on i-2)', 'recalled'],
    ['AlgorithmError: NCCL error, unhandled system error: the peer is gone, exit code: 143', 'interrupted'],
    ['AlgorithmError: ExecuteUserScriptError:\nExitCode 1', 'userError'],
    [
      'AlgorithmError: the words CapacityError and InternalServerError in a script, exit code: 1',
      'userError',
    ],
    ['Framework Error: cannot import', 'userError'],
    ['InternalServerError: We encountered an internal error. Please try again.', 'serviceError'],
    ['CapacityError: Unable to provision requested ML compute capacity.', 'capacity'],
    ['internalservererror: in lower case', 'serviceError'],
    ['SomethingNew: never seen', 'serviceError'],
    ['', 'serviceError'],
    [undefined, 'serviceError'],
  ])('takes a failure with %j as %s', (reason, kind) => {
    expect(failed(reason)).toBe(kind);
  });

  it.each(['AlgorithmError: , exit code: 137', 'AlgorithmError:  (exit code 137 on i-2)'])(
    'explains a kill without a reason: %s',
    (FailureReason) => {
      const { kind, message } = outcomeOf(
        job({ TrainingJobStatus: 'Failed', SecondaryStatus: 'Failed', FailureReason, ...started }),
      );
      expect(kind).toBe('userError');
      expect(message).toMatch(/killed \(SIGKILL\).* memory: choose instance types/);
      expect(message).toContain(FailureReason);
    },
  );

  it.each([
    'AlgorithmError: train.py ended with exit code 137 on algo-1, exit code: 137',
    'AlgorithmError: , exit code: 1',
    'AlgorithmError: ValueError: bad (exit code 137 on i-2)',
  ])('leaves other failures in their own words: %s', (FailureReason) => {
    const ended = { TrainingJobStatus: 'Failed', SecondaryStatus: 'Failed', FailureReason, ...started };
    expect(outcomeOf(job(ended)).message).toBe(FailureReason);
  });

  it('calls lost capacity an interruption', () => {
    expect(failed('CapacityError: gone', started)).toBe('interrupted');
  });

  it('distinguishes waiting from losing capacity at the wait limit', () => {
    expect(stopped('MaxWaitTimeExceeded')).toBe('capacity');
    expect(stopped('MaxWaitTimeExceeded', started)).toBe('interrupted');
    expect(stopped('MaxWaitTimeExceeded', { TrainingTimeInSeconds: 0 })).toBe('capacity');
  });

  it.each([
    ['MaxRuntimeExceeded', 'timeLimit'],
    ['Stopped', 'stopped'],
    ['ANewSecondaryStatus', 'stopped'],
  ])('takes Stopped with %s as %s', (secondary, kind) => {
    expect(stopped(secondary, started)).toBe(kind);
  });

  it('gives zero seconds to a job that never started', () => {
    const outcome = outcomeOf(job({ TrainingJobStatus: 'Stopped', SecondaryStatus: 'MaxWaitTimeExceeded' }));
    expect(outcome).toMatchObject({ trainingSeconds: 0, billableSeconds: 0, startedAt: undefined });
  });

  it('ends an unstarted job at its last status change', () => {
    const transitions = went('Starting', 'Failed');
    const ended = outcomeOf(
      job({
        TrainingJobStatus: 'Failed',
        SecondaryStatus: 'Failed',
        SecondaryStatusTransitions: transitions,
      }),
    );
    expect(ended.endedAt).toBe(transitions.at(-1)?.StartTime.toISOString());
  });

  it('overstates rather than hides what was paid for', () => {
    const { BillableTimeInSeconds: _, TrainingTimeInSeconds: __, ...times } = started;
    expect(
      outcomeOf(job({ ...times, TrainingJobStatus: 'Failed', SecondaryStatus: 'Failed' })),
    ).toMatchObject({
      trainingSeconds: 600,
      billableSeconds: 600,
    });
  });

  it('returns no model of an incomplete job', () => {
    const ModelArtifacts = { S3ModelArtifacts: 's3://b/half.tar.gz' };
    expect(
      outcomeOf(job({ TrainingJobStatus: 'Failed', SecondaryStatus: 'Failed', ModelArtifacts })).modelUri,
    ).toBeUndefined();
  });

  it('has an outcome for every ended job', () => {
    const text = fc.option(fc.string(), { nil: undefined });
    const status = fc.constantFrom('Completed', 'Failed', 'Stopped', 'Deleting');
    fc.assert(
      fc.property(
        status,
        fc.string(),
        text,
        fc.array(fc.string()),
        (TrainingJobStatus, SecondaryStatus, FailureReason, list) => {
          const outcome = outcomeOf(
            job({
              TrainingJobStatus,
              SecondaryStatus,
              FailureReason,
              SecondaryStatusTransitions: went(...list),
            }),
          );
          expect(outcome.message.length).toBeGreaterThan(0);
          expect(outcome.interruptions).toBe(list.filter((one) => one === 'Interrupted').length);
        },
      ),
    );
  });

  it('refuses to judge a job that has not ended', () => {
    expect(() => outcomeOf(job({}))).toThrow(/no outcome yet/);
  });
});

describe('isTerminal', () => {
  it.each([
    ['InProgress', false],
    ['Stopping', false],
    ['AStatusOfTheFuture', false],
    ['Completed', true],
    ['Failed', true],
    ['Stopped', true],
    ['Deleting', true],
  ])('says of %s: %s', (TrainingJobStatus, expected) => {
    expect(isTerminal(job({ TrainingJobStatus }))).toBe(expected);
  });
});

const open = (SecondaryStatus: string, ...history: string[]) =>
  job({ SecondaryStatus, SecondaryStatusTransitions: went(...history, SecondaryStatus) });

describe('a platform failure that the agent wrote', () => {
  it.each(['storage', 'disk', 'packages'] as const)('of kind %s is no error of the script', (fault) => {
    const FailureReason = `AlgorithmError: Platform failure (${fault}): why, exit code: 1`;
    const failed = job({ TrainingJobStatus: 'Failed', SecondaryStatus: 'Failed', FailureReason });
    expect(outcomeOf(failed)).toMatchObject({ kind: 'serviceError', fault });
  });

  it.each([
    'InternalServerError: We encountered an internal error. (Artifact upload failed: ENOSPC: no space left)',
    'ClientError: Artifact upload failed: [Errno 28] No space left on device',
  ])('is a full disk that the service met: %s', (FailureReason) => {
    const failed = job({ TrainingJobStatus: 'Failed', SecondaryStatus: 'Failed', FailureReason });
    expect(outcomeOf(failed)).toMatchObject({ kind: 'serviceError', fault: 'disk' });
  });

  /** As people have published them. */
  it.each([
    ['disk', 'ClientError: Data download failed:Insufficient disk space'],
    ['disk', 'ClientError: Artifact upload failed:Insufficient disk space'],
    ['disk', 'ClientError: Artifact upload failed:Error 5: Received a failed archive status.'],
    [
      'memory',
      'ClientError: Please use an instance type with more memory, or reduce the size of job data processed on an instance.',
    ],
    [
      'memory',
      'ClientError: Artifact upload failed:ClientError: Out of Memory. Please use a larger instance',
    ],
    [
      'image',
      'ClientError: Cannot pull algorithm container. Either the image does not exist or its permissions are incorrect.',
    ],
    [
      'storage',
      "ClientError: Data download failed:Please ensure that the subnet's route table has a route to an S3 VPC endpoint or a NAT device, and both the security groups and the subnet's network ACL allow outbound traffic to S3.",
    ],
    [
      'storage',
      'ClientError: Data download failed: Failed to download data. ListObjectsV2 failed for s3://b/k: Unable to execute request to S3',
    ],
    [
      'storage',
      'ClientError: Data download failed:Unable to download object s3://b/k (AccessDenied: Access Denied)',
    ],
    ['storage', 'ClientError: Artifact upload failed:Error 7: AccessDenied (403): Access Denied'],
    ['storage', 'ClientError: Data download failed:failed to download data. 403 Forbidden (403): Forbidden'],
    ['network', 'ClientError: Unable to mount file system: fs-0123456789abcdef0'],
    ['refused', 'ClientError: Artifact upload failed:no reason that anybody knows'],
    [
      'hardware',
      'AlgorithmError: RuntimeError: CUDA error: uncorrectable ECC error encountered, exit code: 1',
    ],
    [
      'hardware',
      'AlgorithmError: NVRM: Xid (PCI:0000:00:1e): 79, GPU has fallen off the bus (exit code 1 on i-2)',
    ],
    [
      'hardware',
      'AlgorithmError: RuntimeError: NCCL error in: ProcessGroupNCCL.cpp:1970, unhandled system error, NCCL version 2.21.5, exit code: 1',
    ],
  ] as const)('is of kind %s in %s', (fault, FailureReason) => {
    const failed = job({ TrainingJobStatus: 'Failed', SecondaryStatus: 'Failed', FailureReason, ...started });
    expect(outcomeOf(failed)).toMatchObject({ kind: 'serviceError', fault, message: FailureReason });
  });

  it.each([
    'AlgorithmError: ValueError: Cannot pull algorithm container, exit code: 1',
    'AlgorithmError: RuntimeError: CUDA error: device-side assert triggered, exit code: 1',
    'AlgorithmError: torch.cuda.OutOfMemoryError: CUDA out of memory, exit code: 1',
    'AlgorithmError: KeyError: Xid, exit code: 1',
    'AlgorithmError: cannot download images/1.jpg, exit code: 1',
  ])('is not taken for one: %s', (FailureReason) => {
    const failed = job({ TrainingJobStatus: 'Failed', SecondaryStatus: 'Failed', FailureReason, ...started });
    expect(outcomeOf(failed)).toMatchObject({ kind: 'userError' });
  });

  it('is a disk that is too full for words', () => {
    const FailureReason = 'AlgorithmError: , exit code: 74';
    const failed = job({ TrainingJobStatus: 'Failed', SecondaryStatus: 'Failed', FailureReason });
    expect(outcomeOf(failed)).toMatchObject({ kind: 'serviceError', fault: 'disk' });
  });

  it('is not guessed from the words of a script', () => {
    const FailureReason = 'AlgorithmError: OSError: [Errno 28] No space left on device, exit code: 1';
    const failed = job({ TrainingJobStatus: 'Failed', SecondaryStatus: 'Failed', FailureReason });
    expect(outcomeOf(failed)).toMatchObject({ kind: 'userError' });
  });

  it('is not found inside the words of a script', () => {
    const FailureReason = 'AlgorithmError: ValueError: Platform failure (disk): why, exit code: 1';
    const failed = job({ TrainingJobStatus: 'Failed', SecondaryStatus: 'Failed', FailureReason });
    const { kind, fault } = outcomeOf(failed);
    expect({ kind, fault }).toEqual({ kind: 'userError', fault: undefined });
  });
});

describe('a wait for capacity', () => {
  const began = Date.parse('2026-11-20T00:00:00Z');
  const after = (seconds: number, SecondaryStatus: string, StatusMessage: string) =>
    waitsForCapacity(
      job({
        SecondaryStatus,
        SecondaryStatusTransitions: [{ Status: SecondaryStatus, StartTime: new Date(began), StatusMessage }],
      }),
      new Date(began + seconds * 1_000),
    );

  it.each([
    [1, 'Starting', 'Starting the training job', false],
    [1, 'Starting', 'Insufficient capacity error from EC2 while launching instances, retrying!', true],
    [1, 'Pending', 'Preparing the instances for training', false],
    [1, 'Pending', 'Waiting for capacity', true],
    [600, 'Starting', 'Launching requested ML instances', true],
    [600, 'Starting', 'Preparing the instances for training', false],
    [600, 'Training', 'Training in progress', false],
  ] as const)('after %i s in %s with "%s": %s', (seconds, status, message, expected) => {
    expect(after(seconds, status, message)).toBe(expected);
  });
});

describe('mustRecall', () => {
  const patience = { patienceSeconds: 600 };
  it('leaves a job alone that works', () => {
    for (const status of ['Downloading', 'Training', 'Uploading', 'Restarting', 'Updating', 'SomethingNew']) {
      expect(mustRecall(open(status, 'Starting'), at(90_000), patience)).toBe(false);
    }
  });

  it('takes an interrupted job at once', () => {
    const lost = open('Interrupted', 'Starting', 'Training');
    expect(mustRecall(lost, at(200), patience)).toBe(true);
  });

  it('recalls a job that restarts in its own pool', () => {
    const restarting = open('Starting', 'Starting', 'Training', 'Interrupted');
    expect(mustRecall(restarting, at(310), patience)).toBe(true);
  });

  it.each(['Starting', 'Pending'])('recalls a job without capacity in %s after patience', (status) => {
    expect(mustRecall(open(status), at(599), patience)).toBe(false);
    expect(mustRecall(open(status), at(600), patience)).toBe(true);
  });

  it.each(['Preparing the instances for training.', 'Launched instance was unhealthy, replacing it!'])(
    'waits longer while the service says "%s"',
    (StatusMessage) => {
      const held = job({
        SecondaryStatus: 'Starting',
        SecondaryStatusTransitions: [{ Status: 'Starting', StartTime: at(0), StatusMessage }],
      });
      const longer = { ...patience, preparationSeconds: 1_800 };
      expect(mustRecall(held, at(1_799), longer)).toBe(false);
      expect(mustRecall(held, at(1_800), longer)).toBe(true);
      expect(mustRecall(open('Starting'), at(600), longer)).toBe(true);
    },
  );

  it('counts the wait from the first waiting status', () => {
    expect(mustRecall(open('Pending', 'Starting'), at(600), patience)).toBe(true);
  });

  it('counts from the creation when there are no transitions', () => {
    expect(mustRecall(job({ SecondaryStatus: 'Starting' }), at(600), patience)).toBe(true);
  });

  it('forgives an interruption that was overcome', () => {
    expect(
      mustRecall(open('Training', 'Starting', 'Training', 'Interrupted', 'Starting'), at(9_000), patience),
    ).toBe(false);
  });

  it('leaves a job that ends to its end', () => {
    expect(
      mustRecall(job({ TrainingJobStatus: 'Stopping', SecondaryStatus: 'Interrupted' }), at(9_000), patience),
    ).toBe(false);
    expect(
      mustRecall(job({ TrainingJobStatus: 'Stopped', SecondaryStatus: 'Interrupted' }), at(9_000), patience),
    ).toBe(false);
  });

  it('is not misled by a clock that runs behind', () => {
    expect(mustRecall(open('Starting'), at(-50), patience)).toBe(false);
  });
});
