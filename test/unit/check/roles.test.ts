/** The questions to IAM's policy simulator about the stack's roles, and what its answers mean. */
import { describe, expect, it } from 'vitest';
import type { AccountView } from '../../../functions/check/account-view.ts';
import { roleFindings } from '../../../functions/check/roles.ts';
import { account, seen, stack } from '../../support/builders/account.ts';

const deployed = {
  bucket: 'tw-data',
  stage: 'dev',
  stateMachineArn: 'arn:aws:states:us-east-1:123456789012:stateMachine:tidewheel-dev-run',
};

/** Those that are in order left out. */
const findings = async (view: Partial<AccountView>) =>
  (await roleFindings(stack(), deployed, account(view))).filter(({ kind }) => kind !== 'passed');

describe('the roles', () => {
  it('are denied by a policy that the finding names', async () => {
    const view: Partial<AccountView> = {
      decisions: async ({ actions }) =>
        seen(
          actions.map((action) =>
            action === 'sagemaker:CreateTrainingJob'
              ? { action, isAllowed: false, deniedBy: 'organization' as const }
              : { action, isAllowed: true },
          ),
        ),
    };
    expect(await findings(view)).toMatchObject([
      {
        kind: 'fails',
        field: 'LaunchRole: sagemaker:CreateTrainingJob',
        message: 'no training job can start: a service control policy of the organization denies it',
      },
    ]);
  });

  it('have a remedy once removed', async () => {
    const found = await findings({ decisions: async () => seen(undefined) });
    expect(found).toHaveLength(4);
    expect(found[0]).toMatchObject({
      kind: 'fails',
      value: 'missing',
      remedy: expect.stringContaining('--stack-name tidewheel-dev --change-set-name restore'),
    });
  });

  it('are tried with the boundary of a new role', async () => {
    const contexts: unknown[] = [];
    await findings({
      decisions: async ({ actions, context }) => {
        if (actions.includes('iam:CreateRole')) contexts.push(context);
        return seen([]);
      },
    });
    const policy = 'arn:aws:iam::123456789012:policy/tidewheel-dev-TrainingPolicy-AB12';
    expect(contexts).toEqual([{ 'iam:PermissionsBoundary': policy, 'iam:PolicyARN': policy }]);
  });

  it('are tried on resources of their own account', async () => {
    const resources: string[] = [];
    await findings({
      decisions: async ({ roleArn, resource, actions }) => {
        expect(roleArn).toMatch(/^arn:aws:iam::123456789012:role\/tidewheel-dev-/);
        resources.push(resource);
        return seen(actions.map((action) => ({ action, isAllowed: true })));
      },
    });
    expect(resources).toContain('arn:aws:sagemaker:us-east-1:123456789012:training-job/example');
    expect(resources).toContain('arn:aws:s3:::tw-data/example/dataset/example-000001/shards/00000.tar');
  });
});
