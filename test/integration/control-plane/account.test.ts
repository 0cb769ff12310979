/** What a check reads of an account, against an emulator with the limits of a new account. */
import { CreateRouteCommand, EC2Client } from '@aws-sdk/client-ec2';
import { ECRClient } from '@aws-sdk/client-ecr';
import { CreateRoleCommand, IAMClient, PutRolePolicyCommand } from '@aws-sdk/client-iam';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { CreateBucketCommand, PutBucketNotificationConfigurationCommand, S3Client } from '@aws-sdk/client-s3';
import { CreateSecretCommand, SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { ServiceQuotasClient } from '@aws-sdk/client-service-quotas';
import { SQSClient } from '@aws-sdk/client-sqs';
import { SSMClient } from '@aws-sdk/client-ssm';
import { limitsOf } from '@tidewheel/emulators/limits/profiles.ts';
import { accountQuotas } from '@tidewheel/emulators/region/account-quotas.ts';
import { defaultVpc, openDefaultVpc } from '@tidewheel/emulators/region/subnets.ts';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { accountView } from '../../../functions/aws/account/account-view.ts';
import type { AccountView } from '../../../functions/check/account-view.ts';
import { networkFindings } from '../../../functions/check/network.ts';
import { trainingQuotaFindings } from '../../../functions/check/training-quotas.ts';
import { declaration } from '../../support/builders/launch.ts';
import { clientConfiguration, startTestEmulator, type TestEmulator } from '../../support/emulator.ts';
import { pathOf } from '../../support/test-bucket.ts';

let emulator: TestEmulator;
let view: AccountView;
let clients: ReturnType<typeof clientsAt>;

function clientsAt(url: string) {
  const at = clientConfiguration(url);
  const s3 = new S3Client({ ...at, forcePathStyle: true });
  return {
    ec2: new EC2Client(at),
    ecr: new ECRClient(at),
    iam: new IAMClient(at),
    lambda: new LambdaClient(at),
    s3,
    regionOfBucket: async (bucket: string) => (await pathOf(s3, bucket)()).region(),
    secrets: new SecretsManagerClient(at),
    quotas: new ServiceQuotasClient(at),
    sqs: new SQSClient({ ...at, useQueueUrlAsEndpoint: false }),
    ssm: new SSMClient(at),
  };
}

beforeAll(async () => {
  const { concurrentExecutions } = limitsOf('new-account').lambda;
  emulator = await startTestEmulator({
    concurrentExecutions,
    serviceQuotas: accountQuotas('new-account', '000000000000'),
  });
  clients = clientsAt(emulator.url);
  view = accountView({ region: 'us-east-1', ...clients });
});

afterAll(() => emulator.stop());

it('reads the concurrency of a new account', async () => {
  expect(await view.concurrency()).toMatchObject({ value: { account: 10, unreserved: 10 } });
});

it('names the quotas of 0 of a new account', async () => {
  const question = { region: 'us-east-1', launcher: 'sagemaker' } as const;
  const quotas = await view.quotas('sagemaker');
  const pipelines = [declaration({ compute: { instanceTypes: ['g5.xlarge'], nodes: 1 } })];
  const [first] = trainingQuotaFindings({ ...question, pipelines }, quotas);
  expect(first).toMatchObject({
    kind: 'fails',
    value: 'ml.g5.xlarge for spot training job usage: 0, needed 1',
    remedy: expect.stringMatching(
      /request-service-quota-increase .*--quota-code L-[0-9A-F]{8} --desired-value 1$/,
    ),
  });
  const small = [declaration({ compute: { instanceTypes: ['c5.xlarge'], nodes: 1 } })];
  const served = trainingQuotaFindings({ ...question, pipelines: small }, quotas);
  expect(served.map(({ kind }) => kind)).toEqual(['passed', 'passed', 'passed']);
});

it('finds the default VPC of a region open', async () => {
  const own = await startTestEmulator();
  const ec2 = new EC2Client(clientConfiguration(own.url));
  try {
    const opened = accountView({ region: 'us-east-1', ...clients, ec2 });
    for (let start = 0; start < 2; start += 1) await openDefaultVpc(ec2);
    const { securityGroupIds, subnets } = await defaultVpc(ec2);
    const vpc = { securityGroupIds: [...securityGroupIds], subnets: [...subnets] };
    const pipeline = declaration({ compute: { nodes: 2, vpc } });
    const look = await opened.network({
      subnetIds: vpc.subnets.map(({ id }) => id),
      securityGroupIds: vpc.securityGroupIds,
    });
    const findings = networkFindings(pipeline, vpc, look);
    expect(findings.map(({ kind }) => kind)).toEqual(['passed', 'passed', 'passed', 'passed']);
  } finally {
    await own.stop();
  }
});

it('finds a missing route, and the route once added', async () => {
  const vpc = { securityGroupIds: ['sg-00000001'], subnets: [{ id: 'subnet-00000001', zoneId: 'use1-az1' }] };
  const pipeline = declaration({
    compute: { launcher: 'ec2', nodes: 1, vpc, ec2: { image: 'ami-0123456789abcdef0' } },
  });
  const look = () => view.network({ subnetIds: ['subnet-00000001'], securityGroupIds: ['sg-00000001'] });
  const zoneId = await look().then((found) =>
    found.kind === 'seen' ? found.value.subnets[0]?.zoneId : undefined,
  );
  const declared = { ...vpc, subnets: [{ id: 'subnet-00000001', zoneId: zoneId ?? '' }] };
  // The emulator's default VPC has an internet gateway and no route to it.
  expect(networkFindings(pipeline, declared, await look())[0]).toMatchObject({
    kind: 'fails',
    value: 'no route to S3',
  });
  await clients.ec2.send(
    new CreateRouteCommand({
      RouteTableId: 'rtb-00000001',
      DestinationCidrBlock: '0.0.0.0/0',
      GatewayId: 'igw-00000001',
    }),
  );
  expect(networkFindings(pipeline, declared, await look()).map(({ kind }) => kind)).toEqual([
    'passed',
    'passed',
  ]);
  expect(await view.network({ subnetIds: ['subnet-0000dead'], securityGroupIds: [] })).toMatchObject({
    kind: 'seen',
    value: { subnets: [] },
  });
});

it('sees the Spot role once it is created', async () => {
  expect(await view.hasSpotRole()).toEqual({ kind: 'seen', value: false });
  // AWS has this name for it; the emulator's CreateServiceLinkedRole has another.
  await clients.iam.send(
    new CreateRoleCommand({ RoleName: 'AWSServiceRoleForEC2Spot', AssumeRolePolicyDocument: '{}' }),
  );
  expect(await view.hasSpotRole()).toEqual({ kind: 'seen', value: true });
});

it('sees secrets, buckets and notifications', async () => {
  const arn = 'arn:aws:secretsmanager:us-east-1:000000000000:secret:none';
  expect(await view.hasSecret(arn)).toEqual({ kind: 'seen', value: false });
  await clients.secrets.send(new CreateSecretCommand({ Name: 'index', SecretString: 'x' }));
  expect(await view.hasSecret('index')).toEqual({ kind: 'seen', value: true });
  expect(await view.hasBucket('data')).toEqual({ kind: 'seen', value: false });
  await clients.s3.send(new CreateBucketCommand({ Bucket: 'data' }));
  expect(await view.hasBucket('data')).toEqual({ kind: 'seen', value: true });
  expect(await view.sendsEvents('data')).toEqual({ kind: 'seen', value: false });
  await clients.s3.send(
    new PutBucketNotificationConfigurationCommand({
      Bucket: 'data',
      NotificationConfiguration: { EventBridgeConfiguration: {} },
    }),
  );
  expect(await view.sendsEvents('data')).toEqual({ kind: 'seen', value: true });
});

it('asks the policy simulator about a role', async () => {
  const trust = { Version: '2012-10-17', Statement: [] };
  const policy = {
    Version: '2012-10-17',
    Statement: [{ Effect: 'Allow', Action: 's3:GetObject', Resource: 'arn:aws:s3:::data/*' }],
  };
  const { Role } = await clients.iam.send(
    new CreateRoleCommand({ RoleName: 'reader', AssumeRolePolicyDocument: JSON.stringify(trust) }),
  );
  await clients.iam.send(
    new PutRolePolicyCommand({ RoleName: 'reader', PolicyName: 'p', PolicyDocument: JSON.stringify(policy) }),
  );
  const look = await view.decisions({
    roleArn: Role?.Arn ?? '',
    actions: ['s3:GetObject', 's3:PutObject'],
    resource: 'arn:aws:s3:::data/x',
  });
  expect(look).toEqual({
    kind: 'seen',
    value: [
      { action: 's3:GetObject', isAllowed: true },
      { action: 's3:PutObject', isAllowed: false, deniedBy: 'policy' },
    ],
  });
});

it('sees that a role is missing', async () => {
  const roleArn = 'arn:aws:iam::000000000000:role/removed-by-hand';
  const question = { roleArn, actions: ['s3:PutObject'], resource: '*' };
  expect(await view.decisions(question)).toEqual({ kind: 'seen', value: undefined });
});

it('asks about a right with a condition', async () => {
  const boundary = 'arn:aws:iam::000000000000:policy/scripts';
  const policy = {
    Version: '2012-10-17',
    Statement: [
      {
        Effect: 'Allow',
        Action: 'iam:CreateRole',
        Resource: '*',
        Condition: { ArnEquals: { 'iam:PermissionsBoundary': boundary } },
      },
    ],
  };
  const { Role } = await clients.iam.send(
    new CreateRoleCommand({ RoleName: 'creator', AssumeRolePolicyDocument: '{}' }),
  );
  const PolicyDocument = JSON.stringify(policy);
  await clients.iam.send(new PutRolePolicyCommand({ RoleName: 'creator', PolicyName: 'p', PolicyDocument }));
  const isAllowed = async (context: Record<string, string>) => {
    const question = { roleArn: Role?.Arn ?? '', actions: ['iam:CreateRole'], resource: '*', context };
    const look = await view.decisions(question);
    return look.kind === 'seen' && look.value?.[0]?.isAllowed;
  };
  expect(await isAllowed({ 'iam:PermissionsBoundary': boundary })).toBe(true);
  expect(await isAllowed({ 'iam:PermissionsBoundary': `${boundary}-of-others` })).toBe(false);
  expect(await isAllowed({})).toBe(false);
});
