import {
  AddRoleToInstanceProfileCommand,
  AttachRolePolicyCommand,
  CreateInstanceProfileCommand,
  CreateRoleCommand,
  EntityAlreadyExistsException,
  GetInstanceProfileCommand,
  GetRoleCommand,
  IAMClient,
  IAMServiceException,
  LimitExceededException,
  ListAttachedRolePoliciesCommand,
  NoSuchEntityException,
} from '@aws-sdk/client-iam';
import { LaunchRefusedError, TransientError } from '@tidewheel/kit/errors.ts';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { hostProfiles, trainingRoles } from '../../../functions/aws/iam/pipeline-roles.ts';

const iam = mockClient(IAMClient);
const NOW = new Date('2026-11-22T12:00:00Z');
const OLD = new Date('2026-11-22T11:00:00Z');
const kind = { policyArn: 'arn:aws:iam::123456789012:policy/p', path: '/tidewheel/dev/us-east-1/training/' };
const deps = { iam: new IAMClient({ region: 'us-east-1' }), clock: { now: () => NOW }, kind };
const training = trainingRoles(deps);
const hosts = hostProfiles(deps);

const modelled = { message: 'x', $metadata: {} };
const missing = new NoSuchEntityException(modelled);
const there = new EntityAlreadyExistsException(modelled);
const role = (CreateDate: Date) => ({
  Role: { Path: kind.path, RoleName: 'r', RoleId: 'AROA', Arn: 'arn:aws:iam::1:role/r', CreateDate },
});
const profile = (CreateDate: Date, Roles = [role(CreateDate).Role]) => ({
  InstanceProfile: {
    Path: kind.path,
    InstanceProfileName: 'r',
    InstanceProfileId: 'AIPA',
    Arn: 'arn:aws:iam::1:instance-profile/r',
    CreateDate,
    Roles,
  },
});
const writes = () =>
  iam
    .calls()
    .map(({ args: [command] }) => command.constructor.name)
    .filter((name) => !/^(Get|List)/.test(name));

beforeEach(() => {
  iam.reset();
  iam.resolves({});
});

describe('the role of training jobs', () => {
  it('is created with boundary, tag and policy', async () => {
    iam.on(GetRoleCommand).rejects(missing);
    expect(await training.ensure('digits')).toBe('new');
    const [created] = iam.commandCalls(CreateRoleCommand);
    const { RoleName, AssumeRolePolicyDocument, ...input } = created?.args[0].input ?? {};
    expect(training.arnOf('digits')).toBe(`arn:aws:iam::123456789012:role${kind.path}${RoleName}`);
    expect(input).toMatchObject({
      Path: kind.path,
      PermissionsBoundary: kind.policyArn,
      Tags: [{ Key: 'tidewheel-pipeline', Value: 'digits' }],
    });
    expect(JSON.parse(AssumeRolePolicyDocument ?? '')).toMatchObject({
      Statement: [
        {
          Principal: { Service: 'sagemaker.amazonaws.com' },
          Condition: { StringEquals: { 'aws:SourceAccount': '123456789012' } },
        },
      ],
    });
    const [attached] = iam.commandCalls(AttachRolePolicyCommand);
    expect(attached?.args[0].input).toEqual({ RoleName, PolicyArn: kind.policyArn });
  });

  it('is left alone where it is whole', async () => {
    iam.on(GetRoleCommand).resolves(role(OLD));
    iam.on(ListAttachedRolePoliciesCommand).resolves({ AttachedPolicies: [{ PolicyArn: kind.policyArn }] });
    expect(await training.ensure('digits')).toBe('known');
    expect(writes()).toEqual([]);
  });

  it('is new for two minutes', async () => {
    iam.on(ListAttachedRolePoliciesCommand).resolves({ AttachedPolicies: [{ PolicyArn: kind.policyArn }] });
    iam.on(GetRoleCommand).resolves(role(new Date(NOW.getTime() - 119_000)));
    expect(await training.ensure('digits')).toBe('new');
    iam.on(GetRoleCommand).resolves(role(new Date(NOW.getTime() - 121_000)));
    expect(await training.ensure('digits')).toBe('known');
  });

  it('gets its policy after a crash before that', async () => {
    iam.on(GetRoleCommand).resolves(role(OLD));
    iam.on(CreateRoleCommand).rejects(there);
    expect(await training.ensure('digits')).toBe('new');
    expect(iam.commandCalls(AttachRolePolicyCommand)).toHaveLength(1);
  });

  it('beyond the quota ends the run with the remedy', async () => {
    iam.on(GetRoleCommand).rejects(missing);
    iam.on(CreateRoleCommand).rejects(new LimitExceededException(modelled));
    await expect(training.ensure('digits')).rejects.toThrow(LaunchRefusedError);
    await expect(training.ensure('digits')).rejects.toThrow(/higher quota/);
  });

  it('is tried again after a throttle', async () => {
    const throttle = { name: 'Throttling', message: 'slow down', $fault: 'client', $metadata: {} } as const;
    iam.on(GetRoleCommand).rejects(new IAMServiceException(throttle));
    await expect(training.ensure('digits')).rejects.toThrow(TransientError);
  });
});

describe('the instance profile of hosts', () => {
  it('is created with a role for EC2', async () => {
    iam.on(GetInstanceProfileCommand).rejects(missing);
    expect(await hosts.ensure('digits')).toBe('new');
    expect(writes()).toEqual([
      'CreateRoleCommand',
      'AttachRolePolicyCommand',
      'CreateInstanceProfileCommand',
      'AddRoleToInstanceProfileCommand',
    ]);
    const [created] = iam.commandCalls(CreateInstanceProfileCommand);
    const { InstanceProfileName, Path } = created?.args[0].input ?? {};
    expect(hosts.arnOf('digits')).toBe(
      `arn:aws:iam::123456789012:instance-profile${Path}${InstanceProfileName}`,
    );
    const [trust] = iam.commandCalls(CreateRoleCommand);
    expect(trust?.args[0].input.AssumeRolePolicyDocument).toContain('ec2.amazonaws.com');
  });

  it('is left alone where it has its role', async () => {
    iam.on(GetInstanceProfileCommand).resolves(profile(OLD));
    expect(await hosts.ensure('digits')).toBe('known');
    expect(writes()).toEqual([]);
  });

  it('is completed where it has no role', async () => {
    iam.on(GetInstanceProfileCommand).resolves(profile(OLD, []));
    iam.on(CreateRoleCommand).rejects(there);
    iam.on(CreateInstanceProfileCommand).rejects(there);
    expect(await hosts.ensure('digits')).toBe('new');
    expect(iam.commandCalls(AddRoleToInstanceProfileCommand)).toHaveLength(1);
  });

  it('may get its role from another launch', async () => {
    iam.on(GetInstanceProfileCommand).rejectsOnce(missing).resolves(profile(NOW));
    iam.on(AddRoleToInstanceProfileCommand).rejects(new LimitExceededException(modelled));
    expect(await hosts.ensure('digits')).toBe('new');
  });
});
