import type { AttemptOutcome } from '@tidewheel/placement/records.ts';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { describeFleet } from '../../../../functions/launch/ec2/fleet-state.ts';
import type { FleetInstance, FleetView } from '../../../../functions/launch/ec2/fleet-view.ts';
import type { HostReport } from '../../../../functions/launch/job/job-document.ts';
import { isTerminal } from '../../../../functions/launch/job/job-state.ts';
import { outcomeOf } from '../../../../functions/launch/job/outcome.ts';
import { mustRecall } from '../../../../functions/launch/job/recall.ts';

const at = (seconds: number): Date => new Date(1_790_000_000_000 + seconds * 1_000);
const instance = (instanceId: string, state: string, reasonCode?: string): FleetInstance => ({
  instanceId,
  state,
  launchedAt: at(0),
  reasonCode,
});
const report = (instanceId: string, over: Partial<HostReport> = {}): HostReport => ({
  instanceId,
  startedAt: at(60).toISOString(),
  seenAt: at(60).toISOString(),
  phase: 'script',
  scriptStartedAt: at(90).toISOString(),
  ...over,
});
const done = (instanceId: string, over: Partial<HostReport> = {}): HostReport =>
  report(instanceId, { endedAt: at(660).toISOString(), exitCode: 0, ...over });

const view = (over: Partial<FleetView>): FleetView => ({
  jobName: 'digits-000001-a1-abcdef',
  nodes: 2,
  managedSpot: true,
  priceRatio: 0.25,
  maximumRunSeconds: 36_000,
  refills: false,
  instances: [],
  reports: [],
  now: at(1_000),
  ...over,
});

const gone = [
  instance('i-1', 'terminated', 'Client.InstanceInitiatedShutdown'),
  instance('i-2', 'terminated', 'Client.InstanceInitiatedShutdown'),
];

function outcome(over: Partial<FleetView>): AttemptOutcome {
  const job = describeFleet(view(over));
  if (job === undefined) throw new Error('nothing was described');
  return outcomeOf(job);
}

describe('describeFleet', () => {
  it('knows nothing of a fleet that left no trace', () => {
    expect(describeFleet(view({}))).toBeUndefined();
  });

  it('tells the type that EC2 launched', () => {
    const selected = { ...instance('i-1', 'pending'), instanceType: 'g6.xlarge' };
    expect(describeFleet(view({ instances: [selected] }))?.selectedType).toBe('g6.xlarge');
  });

  it('bills hosts from their launch, whatever they do', () => {
    const instances = [instance('i-1', 'running'), instance('i-2', 'pending')];
    const described = (now: Date, ...reports: HostReport[]) =>
      describeFleet(view({ instances, reports, now }));
    expect(described(at(300))).toMatchObject({
      TrainingJobStatus: 'InProgress',
      SecondaryStatus: 'PreparingTrainingStack',
      TrainingStartTime: at(0),
      TrainingTimeInSeconds: 300,
    });
    const phase = (of: HostReport['phase']) => ['i-1', 'i-2'].map((id) => report(id, { phase: of }));
    expect(described(at(400), ...phase('downloading'))).toMatchObject({ SecondaryStatus: 'Downloading' });
    expect(described(at(400), ...phase('installing'))).toMatchObject({ SecondaryStatus: 'Downloading' });
    expect(described(at(1_000), ...phase('script'))).toMatchObject({
      TrainingJobStatus: 'InProgress',
      SecondaryStatus: 'Training',
      TrainingTimeInSeconds: 1_000,
    });
  });

  it('shows how much the slowest host has downloaded', () => {
    const instances = [instance('i-1', 'running'), instance('i-2', 'running')];
    const downloading = { phase: 'downloading', downloadBytes: 150e9, scriptStartedAt: undefined } as const;
    const reports = [
      report('i-1', { ...downloading, downloadedBytes: 40e9 }),
      report('i-2', { ...downloading, downloadedBytes: 12.4e9 }),
    ];
    const job = describeFleet(view({ instances, reports, now: at(400) }));
    expect(job?.SecondaryStatusTransitions.at(-1)).toMatchObject({
      Status: 'Downloading',
      StatusMessage: '12.4 of 150.0 GB are downloaded.',
    });
  });

  it('is never recalled while hosts boot and download', () => {
    const instances = [instance('i-1', 'running'), instance('i-2', 'running')];
    const downloads = ['i-1', 'i-2'].map((id) =>
      report(id, { phase: 'downloading', seenAt: at(7_000).toISOString(), scriptStartedAt: undefined }),
    );
    for (const [now, reports] of [
      [at(899), []],
      [at(7_200), downloads],
    ] as const) {
      const job = describeFleet(view({ instances, reports, now }));
      expect(job && isTerminal(job)).toBe(false);
      expect(job && mustRecall(job, now, { patienceSeconds: 0 })).toBe(false);
    }
  });

  it('completes after EC2 forgot its successful hosts', () => {
    const reports = [done('i-1', { modelUri: 's3://b/model.tar.gz' }), done('i-2')];
    const expected = {
      kind: 'completed',
      trainingSeconds: 660,
      billableSeconds: 165,
      interruptions: 0,
      modelUri: 's3://b/model.tar.gz',
    };
    expect(outcome({ instances: gone, reports })).toMatchObject(expected);
    const launchedAt = at(0).toISOString();
    const later = reports.map((each) => ({ ...each, launchedAt }));
    expect(outcome({ instances: [], reports: later })).toMatchObject(expected);
  });

  it('is not complete while one host is missing', () => {
    expect(outcome({ instances: gone, reports: [done('i-1')] }).kind).toBe('serviceError');
  });

  it('distinguishes a lost host from a failed script', () => {
    const instances = [
      instance('i-1', 'terminated', 'Server.SpotInstanceTermination'),
      instance('i-2', 'terminated'),
    ];
    const reports = [report('i-1'), done('i-2', { exitCode: 1, failure: 'connection reset by peer' })];
    expect(outcome({ instances, reports })).toMatchObject({ kind: 'interrupted', interruptions: 1 });
  });

  it('believes the notice that a host saw, too', () => {
    expect(
      outcome({
        instances: gone,
        reports: [done('i-1', { stoppedBy: 'spot', exitCode: 143 }), done('i-2', { exitCode: 1 })],
      }).kind,
    ).toBe('interrupted');
  });

  it('reports a capacity error when no host ran', () => {
    expect(
      outcome({ instances: [instance('i-1', 'terminated', 'Server.InsufficientInstanceCapacity')] }),
    ).toMatchObject({ kind: 'capacity', trainingSeconds: 0 });
  });

  it('counts a reclaim during the boot as an interruption', () => {
    expect(
      outcome({ instances: [instance('i-1', 'terminated', 'Server.SpotInstanceTermination')] }).kind,
    ).toBe('interrupted');
  });

  it('passes on what the script said', () => {
    const reports = [
      done('i-1', { exitCode: 1 }),
      done('i-2', { exitCode: 42, failure: 'ValueError: no shards' }),
    ];
    expect(outcome({ instances: gone, reports })).toMatchObject({
      kind: 'userError',
      message: 'AlgorithmError: ValueError: no shards (exit code 42 on i-2)',
    });
  });

  it('names reclaimed hosts with an unsaved checkpoint', () => {
    const saved = done('i-1', { exitCode: 143, stoppedBy: 'spot', unsavedFiles: 0 });
    const lost = done('i-2', { exitCode: 143, stoppedBy: 'spot', unsavedFiles: 2 });
    expect(outcome({ instances: gone, reports: [saved, lost] }).message).toMatch(
      /reclaimed i-1, i-2; the last checkpoint did not reach the bucket from i-2$/,
    );
    expect(outcome({ instances: gone, reports: [saved] }).message).not.toContain('did not reach');
  });

  it('treats silence as a service fault at full cost', () => {
    expect(outcome({ instances: gone, reports: [report('i-1'), report('i-2')] })).toMatchObject({
      kind: 'serviceError',
      trainingSeconds: 1_000,
    });
  });

  it.each([
    ['storage', 'AwsCliError: aws s3 cp failed: Could not connect'],
    ['disk', "OSError: [Errno 28] No space left on device: '/opt/ml'"],
    ['packages', 'Connection refused'],
  ] as const)('blames the platform for %s, never the script', (fault, words) => {
    const failure = `Platform failure (${fault}): ${words}`;
    const reports = [
      done('i-1', { exitCode: 1, failure, phase: 'downloading' }),
      done('i-2', { exitCode: 143 }),
    ];
    expect(outcome({ instances: gone, reports })).toMatchObject({
      kind: 'serviceError',
      fault,
      message: `InternalServerError: ${failure} (on i-1)`,
    });
  });

  it.each([
    ['timeLimit', 'timeLimit'],
    ['stop', 'stopped'],
  ] as const)('takes hosts that ended for %s for %s', (stoppedBy, kind) => {
    expect(
      outcome({ instances: gone, reports: [done('i-1', { stoppedBy }), done('i-2', { stoppedBy })] }).kind,
    ).toBe(kind);
  });

  it('is stopped on request, whatever its hosts report', () => {
    expect(outcome({ instances: gone, reports: [report('i-1')], stopRequestedAt: at(500) }).kind).toBe(
      'stopped',
    );
  });

  it('allows hosts a grace period, then another stop', () => {
    const requested = (stopRequestedAt: Date) =>
      describeFleet(
        view({ instances: [instance('i-1', 'running')], reports: [report('i-1')], stopRequestedAt }),
      );
    expect(requested(at(900))).toMatchObject({ TrainingJobStatus: 'Stopping' });
    expect(requested(at(800))).toMatchObject({
      TrainingJobStatus: 'InProgress',
      SecondaryStatus: 'Stopping',
    });
  });

  it('is recalled as soon as one host is lost', () => {
    const instances = [
      instance('i-1', 'shutting-down', 'Server.SpotInstanceTermination'),
      instance('i-2', 'running'),
    ];
    const job = describeFleet(view({ instances, reports: [report('i-1'), report('i-2')] }));
    expect(job && mustRecall(job, at(1_000), { patienceSeconds: 600 })).toBe(true);
  });

  describe('with silent hosts', () => {
    const silent = [instance('i-1', 'running'), instance('i-2', 'running')];

    it('has failed fifteen minutes after their launch', () => {
      expect(describeFleet(view({ instances: silent, now: at(899) }))?.TrainingJobStatus).toBe('InProgress');
      expect(outcome({ instances: silent, now: at(900) })).toMatchObject({
        kind: 'serviceError',
        fault: 'silent',
        message: 'InternalServerError: no report from i-1, i-2 for 15 minutes since the launch',
        trainingSeconds: 900,
        billableSeconds: 225,
      });
    });

    it('passes on the end of a console', () => {
      const consoles = new Map([['i-2', 'aws: command not found']]);
      expect(outcome({ instances: silent, now: at(900), consoles }).message).toMatch(
        /; the console of i-2 ends with:\naws: command not found$/,
      );
    });

    it('has failed when one stops renewing its report', () => {
      const phase = 'downloading';
      const renewed = report('i-1', { phase, seenAt: at(990).toISOString() });
      const reports = [renewed, report('i-2', { phase })];
      expect(outcome({ instances: silent, reports, now: at(1_000) })).toMatchObject({
        fault: 'silent',
        message: 'InternalServerError: no report from i-2 for 15 minutes since the phase "downloading"',
      });
    });

    it('has failed when they end without a word', () => {
      expect(outcome({ instances: gone, now: at(120) })).toMatchObject({
        kind: 'serviceError',
        fault: 'silent',
        message: 'InternalServerError: no report from i-1, i-2 before the end',
      });
    });

    it('blames the silent host, not the waiting one', () => {
      const failure = 'Interrupted: host missing: 1 of 2 hosts came within 900 s';
      const waited = done('i-2', { exitCode: 143, failure, phase: 'started' });
      expect(outcome({ instances: gone, reports: [waited] }).message).toMatch(/no report from i-1 before/);
    });
  });

  describe('that EC2 ended', () => {
    const endedWith = (reasonCode: string, reports: readonly HostReport[] = []) =>
      outcome({
        now: at(120),
        reports,
        instances: [
          { ...instance('i-1', 'terminated', reasonCode), reasonMessage: 'its words' },
          instance('i-2', 'terminated', 'Client.InstanceInitiatedShutdown'),
        ],
      });

    it.each([
      ['Server.InternalError', 'hardware'],
      ['Server.ScheduledStop', 'hardware'],
      ['Client.InternalError', 'refused'],
      ['Client.InvalidKMSKey.InvalidState', 'refused'],
      ['Client.InvalidSnapshot.NotFound', 'image'],
      ['Client.NeverHeardOfIt', 'refused'],
    ] as const)('with %s has the fault %s', (code, fault) => {
      const ended = endedWith(code);
      expect(ended).toMatchObject({ kind: 'serviceError', fault });
      expect(ended.message).toContain(`EC2 ended i-1 with ${code}: its words`);
    });

    it.each(['Client.InternalError', 'Client.InvalidKMSKey.InvalidState'])(
      'names the key behind %s',
      (code) => {
        expect(endedWith(code).message).toMatch(/remedy: the key that encrypts EBS volumes by default/);
      },
    );

    it('for a quota costs nothing and says which', () => {
      const instances = ['i-1', 'i-2'].map((id) => instance(id, 'terminated', 'Client.VolumeLimitExceeded'));
      expect(outcome({ instances })).toMatchObject({
        kind: 'capacity',
        quota: true,
        billableSeconds: 0,
        message: expect.stringMatching(/Client\.VolumeLimitExceeded.*higher quota of EBS storage/),
      });
    });

    it('is the cause, whatever the other scripts said', () => {
      const torn = done('i-2', { exitCode: 1, failure: 'connection reset by peer' });
      expect(endedWith('Server.ScheduledStop', [report('i-1'), torn])).toMatchObject({ fault: 'hardware' });
    });

    it('for a person is a stop from outside', () => {
      const instances = ['i-1', 'i-2'].map((id) =>
        instance(id, 'terminated', 'Client.UserInitiatedShutdown'),
      );
      expect(outcome({ instances, reports: [report('i-1')] })).toMatchObject({
        kind: 'stopped',
        message: expect.stringContaining('EC2 ended i-1 with Client.UserInitiatedShutdown'),
      });
      const failedBefore = [done('i-1', { exitCode: 1, failure: 'ValueError' })];
      expect(outcome({ instances, reports: failedBefore }).kind).toBe('userError');
    });
  });

  it('always has an outcome once no host is left', () => {
    const code = fc.constantFrom(
      undefined,
      'Server.SpotInstanceTermination',
      'Client.UserInitiatedShutdown',
      'New',
    );
    const host = fc.record({
      state: fc.constantFrom('terminated', 'shutting-down', 'stopped'),
      code,
      spoke: fc.option(
        fc.record({
          exitCode: fc.integer({ min: 0, max: 255 }),
          stoppedBy: fc.constantFrom(undefined, 'spot', 'timeLimit', 'stop'),
        }),
        { nil: undefined },
      ),
    });
    fc.assert(
      fc.property(fc.array(host, { minLength: 1, maxLength: 5 }), (hosts) => {
        const job = describeFleet(
          view({
            nodes: hosts.length,
            instances: hosts.map(({ state, code: reason }, index) => instance(`i-${index}`, state, reason)),
            reports: hosts.flatMap(({ spoke }, index) =>
              spoke === undefined ? [] : [done(`i-${index}`, spoke as Partial<HostReport>)],
            ),
          }),
        );
        expect(job !== undefined && isTerminal(job)).toBe(true);
        const wellDone = hosts.every(({ spoke }) => spoke?.exitCode === 0 && spoke.stoppedBy === undefined);
        expect(job && outcomeOf(job).kind === 'completed').toBe(wellDone);
      }),
    );
  });
});
