/** The launchers over the fakes keep the contract; test/integration runs it on the adapters. */
import { expect, it } from 'vitest';
import { portOf } from '../../../functions/launch/launcher.ts';
import { fleetInput } from '../../support/builders/fleet.ts';
import { launch } from '../../support/builders/launch.ts';
import { launchersOver } from '../../support/builders/launchers.ts';
import { attemptOf, placementOf } from '../../support/builders/records.ts';
import { launcherContract } from '../../support/contracts/launcher.ts';
import { ground } from '../../support/world/ground.ts';

const TRAINS_SECONDS = 10_000;

launcherContract('SageMaker', { hosts: false, leftovers: false, capacityErrors: true }, () => {
  const at = ground([
    { at: 0, status: 'InProgress', secondary: 'Training' },
    { at: TRAINS_SECONDS, status: 'Completed', secondary: 'Completed' },
  ]);
  return Promise.resolve({
    launcher: at.launchers.sagemaker,
    starter: at.starters.sagemaker,
    input: (attempt: number) => launch({ attempt }),
    write: () => Promise.resolve(),
    finish: () => Promise.resolve(at.pass(TRAINS_SECONDS)),
    pass: () => Promise.resolve(at.pass(60)),
    failNext: (kind: 'capacity' | 'quota') => at.failCreates({ kind, message: 'not now' }),
  });
});

launcherContract('EC2', { hosts: true, leftovers: true, capacityErrors: true }, () => {
  const at = ground(undefined, () => [
    { at: 30, act: (fleet) => fleet.instanceIds.forEach((id) => fleet.say(id, {})) },
    {
      at: TRAINS_SECONDS,
      act: (fleet) =>
        fleet.instanceIds.forEach((id) => {
          fleet.say(id, { endedAt: at.clock.now().toISOString(), exitCode: 0 });
          fleet.terminate(id);
        }),
    },
  ]);
  return Promise.resolve({
    launcher: at.launchers.ec2,
    starter: at.starters.ec2,
    input: (attempt: number) => fleetInput({ over: { attempt } }),
    write: () => Promise.resolve(),
    finish: () => Promise.resolve(at.pass(TRAINS_SECONDS)),
    pass: () => Promise.resolve(at.pass(60)),
    failNext: (kind: 'capacity' | 'quota') => at.failCreates({ kind, message: 'not now' }),
    instancesOf: (jobName: string) => Promise.resolve(at.fleets.hostsOf(jobName)),
  });
});

it('uses the recorded launcher and refuses an unknown one', () => {
  const { launchers } = launchersOver(ground());
  for (const launcher of ['sagemaker', 'ec2'] as const) {
    const placement = placementOf({ pool: { ...placementOf().pool, launcher } });
    expect(portOf(launchers, attemptOf('digits-000001', 1, { placement }))).toBe(launchers[launcher]);
  }
  const foreign: typeof launchers = JSON.parse('{"slurm": {}}');
  expect(() => portOf(foreign, attemptOf('digits-000001', 1))).toThrow(
    /record of digits-000001-a1-\w+ names the launcher "sagemaker", which this release does not have \(slurm\)/,
  );
});
