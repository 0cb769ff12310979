/** The PipelineRole port on IAM. */

import {
  AddRoleToInstanceProfileCommand,
  AttachRolePolicyCommand,
  CreateInstanceProfileCommand,
  CreateRoleCommand,
  GetInstanceProfileCommand,
  GetRoleCommand,
  type IAMClient,
  LimitExceededException,
  ListAttachedRolePoliciesCommand,
} from '@aws-sdk/client-iam';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { LaunchRefusedError } from '@tidewheel/kit/errors.ts';
import {
  PIPELINE_TAG,
  type PipelineRole,
  type RoleAge,
  type RoleKind,
  type RoleNames,
  roleNames,
} from '../../launch/pipeline-role.ts';
import { rethrow, unlessMissing, unlessThere } from '../shared/aws-errors.ts';

interface RoleDeps {
  readonly iam: IAMClient;
  readonly clock: Clock;
  readonly kind: RoleKind;
}

/** The execution roles of SageMaker's jobs. */
export const trainingRoles = (deps: RoleDeps): PipelineRole => ({
  arnOf: (pipeline) => roleNames(deps.kind, pipeline).roleArn,
  ensure: async (pipeline) => {
    const names = roleNames(deps.kind, pipeline);
    return ensured(deps, names, async () => {
      const createdAt = await attachedSince(deps, names);
      if (createdAt !== undefined) return createdAt;
      await createRole(deps, { names, pipeline, trust: sageMakerTrust(names) });
      return undefined;
    });
  },
});

/** The instance profiles of hosts on EC2, each with its role. */
export const hostProfiles = (deps: RoleDeps): PipelineRole => ({
  arnOf: (pipeline) => roleNames(deps.kind, pipeline).profileArn,
  ensure: async (pipeline) => {
    const names = roleNames(deps.kind, pipeline);
    return ensured(deps, names, async () => {
      const createdAt = await profileSince(deps, names);
      if (createdAt !== undefined) return createdAt;
      await createRole(deps, { names, pipeline, trust: EC2_TRUST });
      await createProfile(deps, names);
      return undefined;
    });
  },
});

/** Services see a new role after seconds, rarely after minutes. */
const NEW_MILLISECONDS = 120_000;

/** @param look creates what is missing, and returns when an existing role was created */
async function ensured(
  { clock }: RoleDeps,
  { name }: RoleNames,
  look: () => Promise<Date | undefined>,
): Promise<RoleAge> {
  try {
    const createdAt = await look();
    if (createdAt === undefined) return 'new';
    return clock.now().getTime() - createdAt.getTime() < NEW_MILLISECONDS ? 'new' : 'known';
  } catch (error) {
    if (error instanceof LimitExceededException)
      throw new LaunchRefusedError(
        `IAM does not create the role ${name}: ${error.message} (remedy: request a higher quota of roles or instance profiles, or delete those of pipelines that are gone)`,
        { cause: error },
      );
    return rethrow(`create the role ${name}`, error);
  }
}

/** When a whole role was created; undefined if it is missing or has not its policy yet. */
async function attachedSince({ iam, kind }: RoleDeps, { name }: RoleNames): Promise<Date | undefined> {
  const found = await unlessMissing(() => iam.send(new GetRoleCommand({ RoleName: name })));
  if (found === undefined) return undefined;
  const { AttachedPolicies = [] } = await iam.send(new ListAttachedRolePoliciesCommand({ RoleName: name }));
  const isWhole = AttachedPolicies.some(({ PolicyArn }) => PolicyArn === kind.policyArn);
  return isWhole ? found.Role?.CreateDate : undefined;
}

/** The role enters the profile last, so a profile that has one is whole. */
async function profileSince({ iam }: RoleDeps, { name }: RoleNames): Promise<Date | undefined> {
  const found = await unlessMissing(() =>
    iam.send(new GetInstanceProfileCommand({ InstanceProfileName: name })),
  );
  return found?.InstanceProfile?.Roles?.length ? found.InstanceProfile.CreateDate : undefined;
}

interface NewRole {
  readonly names: RoleNames;
  readonly pipeline: string;
  /** The statement that says which service may take it. */
  readonly trust: unknown;
}

async function createRole({ iam, kind }: RoleDeps, { names, pipeline, trust }: NewRole): Promise<void> {
  const role = new CreateRoleCommand({
    RoleName: names.name,
    Path: names.path,
    Description: `Scripts of the pipeline ${pipeline}`,
    AssumeRolePolicyDocument: JSON.stringify({ Version: '2012-10-17', Statement: [trust] }),
    PermissionsBoundary: kind.policyArn,
    Tags: [{ Key: PIPELINE_TAG, Value: pipeline }],
  });
  await unlessThere(iam.send(role));
  await iam.send(new AttachRolePolicyCommand({ RoleName: names.name, PolicyArn: kind.policyArn }));
}

async function createProfile({ iam }: RoleDeps, { name, path }: RoleNames): Promise<void> {
  await unlessThere(iam.send(new CreateInstanceProfileCommand({ InstanceProfileName: name, Path: path })));
  const join = new AddRoleToInstanceProfileCommand({ InstanceProfileName: name, RoleName: name });
  try {
    await iam.send(join);
  } catch (error) {
    if (!(error instanceof LimitExceededException)) throw error;
    // A profile holds one role. Another launch of this pipeline was faster.
    const found = await iam.send(new GetInstanceProfileCommand({ InstanceProfileName: name }));
    if (!found.InstanceProfile?.Roles?.length) throw error;
  }
}

/** The confused deputy: only jobs of this account. */
const sageMakerTrust = ({ account }: RoleNames) => ({
  Effect: 'Allow',
  Principal: { Service: 'sagemaker.amazonaws.com' },
  Action: 'sts:AssumeRole',
  Condition: { StringEquals: { 'aws:SourceAccount': account } },
});
const EC2_TRUST = { Effect: 'Allow', Principal: { Service: 'ec2.amazonaws.com' }, Action: 'sts:AssumeRole' };
