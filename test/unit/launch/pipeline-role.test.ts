import { describe, expect, it } from 'vitest';
import type { CreateOutcome } from '../../../functions/launch/job/training-service.ts';
import { type RoleAge, roleNames, startUnder } from '../../../functions/launch/pipeline-role.ts';

const KIND = {
  policyArn: 'arn:aws-cn:iam::123456789012:policy/tidewheel-dev-TrainingPolicy-AB',
  path: '/tidewheel/dev/cn-north-1/training/',
};

describe("a pipeline's role", () => {
  it("has its pipeline's name and its kind's path", () => {
    const { name, roleArn, profileArn } = roleNames(KIND, 'digits');
    expect(name).toMatch(/^tidewheel-digits-[0-9a-f]{8}$/);
    expect(roleArn).toBe(`arn:aws-cn:iam::123456789012:role${KIND.path}${name}`);
    expect(profileArn).toBe(`arn:aws-cn:iam::123456789012:instance-profile${KIND.path}${name}`);
  });

  it('is another under another policy', () => {
    const later = { ...KIND, policyArn: `${KIND.policyArn}C` };
    expect(roleNames(later, 'digits').name).not.toBe(roleNames(KIND, 'digits').name);
  });

  it("fits IAM's 64 characters with the longest name", () => {
    expect(roleNames(KIND, 'a'.repeat(32)).name.length).toBeLessThanOrEqual(64);
  });
});

describe('a start under a role', () => {
  const startWith = (age: RoleAge, outcome: CreateOutcome) =>
    startUnder({ arnOf: () => '', ensure: () => Promise.resolve(age) }, 'digits', () =>
      Promise.resolve(outcome),
    );
  const refused = { message: 'Could not assume role' };

  it.each(['invalid', 'denied'] as const)('may repeat an outcome %s while it is new', async (kind) => {
    const outcome = await startWith('new', { kind, ...refused });
    expect(outcome).toMatchObject({ kind: 'throttled', message: expect.stringContaining(refused.message) });
    expect(await startWith('known', { kind, ...refused })).toEqual({ kind, ...refused });
  });

  it('keeps every other outcome', async () => {
    const outcome = { kind: 'capacity', message: 'none left' } as const;
    expect(await startWith('new', outcome)).toEqual(outcome);
  });

  it('comes after the role', async () => {
    const calls: string[] = [];
    await startUnder(
      { arnOf: () => '', ensure: async (pipeline) => (calls.push(pipeline), 'known') },
      'digits',
      async () => (calls.push('start'), { kind: 'created', arn: 'arn' }),
    );
    expect(calls).toEqual(['digits', 'start']);
  });
});
