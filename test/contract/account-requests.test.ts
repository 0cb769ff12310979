/** What a check of a deployment asks of an account: valid requests, answers as AWS writes them, rights that exist. */
import { CloudFormationClient } from '@aws-sdk/client-cloudformation';
import { EC2Client } from '@aws-sdk/client-ec2';
import { ECRClient } from '@aws-sdk/client-ecr';
import { IAMClient, SimulatePrincipalPolicyCommand } from '@aws-sdk/client-iam';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { S3Client } from '@aws-sdk/client-s3';
import { SecretsManagerClient } from '@aws-sdk/client-secrets-manager';
import { ServiceQuotasClient } from '@aws-sdk/client-service-quotas';
import { SQSClient } from '@aws-sdk/client-sqs';
import { SSMClient } from '@aws-sdk/client-ssm';
import { requestViolations } from '@tidewheel/emulators/sagemaker/api/service-model.ts';
import { mockClient } from 'aws-sdk-client-mock';
import { beforeEach, describe, expect, it } from 'vitest';
import { accountView } from '../../functions/aws/account/account-view.ts';
import { readStack } from '../../functions/aws/account/stack.ts';
import { NEEDED_RIGHTS } from '../../functions/check/roles.ts';
import { loadModel } from './botocore.ts';
import { resolve } from './intrinsics.ts';
import { packaged } from './packaged.ts';
import { isAllowed, rolesOf } from './roles.ts';

const at = { region: 'us-east-1', credentials: { accessKeyId: 'a', secretAccessKey: 'b' } };
const clients = {
  ec2: new EC2Client(at),
  ecr: new ECRClient(at),
  iam: new IAMClient(at),
  lambda: new LambdaClient(at),
  s3: new S3Client(at),
  secrets: new SecretsManagerClient(at),
  quotas: new ServiceQuotasClient(at),
  sqs: new SQSClient(at),
  ssm: new SSMClient(at),
};
const cloudFormation = new CloudFormationClient(at);
const regionOfBucket = () => Promise.resolve('us-east-1');
const view = accountView({ region: 'us-east-1', ...clients, regionOfBucket });

const MODELS = {
  ec2: 'ec2/2016-11-15',
  ecr: 'ecr/2015-09-21',
  iam: 'iam/2010-05-08',
  lambda: 'lambda/2015-03-31',
  s3: 's3/2006-03-01',
  secrets: 'secretsmanager/2017-10-17',
  quotas: 'service-quotas/2019-06-24',
  sqs: 'sqs/2012-11-05',
  ssm: 'ssm/2014-11-06',
} as const;

/** What the stubs of all clients have in common; their own types differ by the client. */
interface Stub {
  reset(): unknown;
  onAnyCommand(): { resolves(answer: object): unknown };
  calls(): readonly { readonly args: readonly [command: object, ...unknown[]] }[];
}
const stubbed = {
  ec2: mockClient(clients.ec2),
  ecr: mockClient(clients.ecr),
  iam: mockClient(clients.iam),
  lambda: mockClient(clients.lambda),
  s3: mockClient(clients.s3),
  secrets: mockClient(clients.secrets),
  quotas: mockClient(clients.quotas),
  sqs: mockClient(clients.sqs),
  ssm: mockClient(clients.ssm),
};
const stacks = mockClient(cloudFormation);
const stubs: readonly { readonly model: string; readonly stub: Stub }[] = [
  ...(Object.keys(MODELS) as (keyof typeof MODELS)[]).map((name) => ({
    model: MODELS[name],
    stub: stubbed[name] as unknown as Stub,
  })),
  { model: 'cloudformation/2010-05-15', stub: stacks as unknown as Stub },
];

/** What the service model finds wrong with the requests that a client sent. */
function problemsOf({ model, stub }: (typeof stubs)[number]): unknown[] {
  const service = loadModel(model);
  return stub.calls().flatMap(({ args: [command] }) => {
    const operation = command.constructor.name.replace(/Command$/, '');
    return requestViolations(service, operation, 'input' in command ? command.input : undefined);
  });
}

beforeEach(() => {
  for (const { stub } of stubs) {
    stub.reset();
    stub.onAnyCommand().resolves({});
  }
});

describe('the requests of a check', () => {
  it('are valid by the service models', async () => {
    stubbed.ec2.onAnyCommand().resolves({ Subnets: [{ SubnetId: 'subnet-1', VpcId: 'vpc-1' }] });
    stubbed.quotas
      .onAnyCommand()
      .resolvesOnce({ NextToken: 'more' })
      .resolves({ Quotas: [{ QuotaName: 'a', QuotaCode: 'L-1', Value: 1 }] });
    stubbed.ssm.onAnyCommand().resolves({ Parameter: { Value: 'ami-0123456789abcdef0' } });
    stacks
      .onAnyCommand()
      .resolves({ Stacks: [{ StackName: 's', CreationTime: new Date(), StackStatus: 'CREATE_COMPLETE' }] });
    await view.concurrency();
    await view.quotas('sagemaker');
    await view.hasSpotRole();
    await view.network({ subnetIds: ['subnet-1'], securityGroupIds: ['sg-1'] });
    await view.machineImage('resolve:ssm:/aws/service/deeplearning/ami/latest/ami-id');
    await view.hasContainerImage('123456789012.dkr.ecr.us-east-1.amazonaws.com/team/mine:1.2');
    await view.hasContainerImage(
      `123456789012.dkr.ecr.us-east-1.amazonaws.com/mine@sha256:${'0'.repeat(64)}`,
    );
    await view.hasSecret('arn:aws:secretsmanager:us-east-1:123456789012:secret:index-AbCdEf');
    await view.sendsEvents('tw-data');
    await view.readerState('tidewheel-dev-on-arrival');
    await view.messagesIn('https://sqs.us-east-1.amazonaws.com/123456789012/q');
    await view.decisions({
      roleArn: 'arn:aws:iam::123456789012:role/x',
      actions: ['s3:GetObject'],
      resource: 'arn:aws:s3:::b/k',
      context: { 'iam:PermissionsBoundary': 'arn:aws:iam::123456789012:policy/p' },
    });
    await readStack(cloudFormation, 'tidewheel-dev');
    const sent = stubs.flatMap(({ stub }) => stub.calls());
    expect(sent.length).toBeGreaterThanOrEqual(19);
    expect(stubs.flatMap(problemsOf)).toEqual([]);
  });
});

describe('the answers of AWS', () => {
  it('fill defaults in where no quota is applied', async () => {
    stubbed.quotas.onAnyCommand().callsFake(() => ({
      Quotas: [{ QuotaName: 'a', QuotaCode: 'L-1', Value: stubbed.quotas.calls().length === 1 ? 0 : 5 }],
    }));
    expect(await view.quotas('ec2')).toEqual({
      kind: 'seen',
      value: [{ name: 'a', code: 'L-1', value: 5 }],
    });
  });

  it('resolve the route table that holds for a subnet', async () => {
    stubbed.ec2.onAnyCommand().resolves({
      Subnets: [{ SubnetId: 'subnet-1', VpcId: 'vpc-1', AvailabilityZoneId: 'use1-az1' }],
      RouteTables: [
        {
          RouteTableId: 'rtb-main',
          VpcId: 'vpc-1',
          Associations: [{ Main: true }],
          Routes: [{ DestinationCidrBlock: '0.0.0.0/0', NatGatewayId: 'nat-1', State: 'blackhole' }],
        },
        {
          RouteTableId: 'rtb-other',
          VpcId: 'vpc-1',
          Associations: [{ SubnetId: 'subnet-2' }],
          Routes: [{ DestinationCidrBlock: '0.0.0.0/0', GatewayId: 'igw-1', State: 'active' }],
        },
      ],
      VpcEndpoints: [
        {
          VpcId: 'vpc-1',
          ServiceName: 'com.amazonaws.us-east-1.s3',
          VpcEndpointType: 'Gateway',
          RouteTableIds: ['rtb-main'],
          State: 'available' as 'Available',
        },
      ],
      SecurityGroups: [
        {
          GroupId: 'sg-1',
          VpcId: 'vpc-1',
          IpPermissions: [{ IpProtocol: '-1', UserIdGroupPairs: [{ GroupId: 'sg-1' }] }],
          IpPermissionsEgress: [{ IpProtocol: '-1', IpRanges: [{ CidrIp: '0.0.0.0/0' }] }],
        },
      ],
    });
    expect(await view.network({ subnetIds: ['subnet-1'], securityGroupIds: ['sg-1'] })).toMatchObject({
      value: {
        subnets: [
          {
            id: 'subnet-1',
            zoneId: 'use1-az1',
            routeTableId: 'rtb-main',
            routes: [{ destination: '0.0.0.0/0', via: 'natGateway', isActive: false }],
          },
        ],
        endpoints: [{ service: 's3', kind: 'gateway', routeTableIds: ['rtb-main'], isAvailable: true }],
        securityGroups: [{ id: 'sg-1', allowsOwnInbound: true, allowsOwnOutbound: true }],
      },
    });
  });

  it('tell what is missing from what is forbidden', async () => {
    const error = (name: string) => Object.assign(new Error(name), { name });
    stubbed.iam.onAnyCommand().rejects(error('NoSuchEntityException'));
    expect(await view.hasSpotRole()).toEqual({ kind: 'seen', value: false });
    stubbed.iam.onAnyCommand().rejects(error('AccessDenied'));
    expect(await view.hasSpotRole()).toMatchObject({
      kind: 'refused',
      action: 'iam:GetRole',
      isDenied: true,
    });
    stubbed.ssm.onAnyCommand().rejects(error('ParameterNotFound'));
    expect(await view.machineImage('resolve:ssm:/none')).toEqual({ kind: 'seen', value: undefined });
    stubbed.ecr.onAnyCommand().rejects(error('RepositoryNotFoundException'));
    expect(await view.hasContainerImage('123456789012.dkr.ecr.us-east-1.amazonaws.com/none')).toEqual({
      kind: 'seen',
      value: false,
    });
    expect(await view.hasContainerImage('docker.io/library/python:3')).toEqual({
      kind: 'seen',
      value: false,
    });
    stubbed.lambda.onAnyCommand().rejects(Object.assign(error('Error'), { code: 'ECONNREFUSED' }));
    expect(await view.concurrency()).toMatchObject({ kind: 'refused', isDenied: false });
  });

  it('tell the simulator the conditions of the request', async () => {
    const context = { 'iam:PermissionsBoundary': 'arn:aws:iam::123456789012:policy/p' };
    await view.decisions({ roleArn: 'arn:x', actions: ['iam:CreateRole'], resource: 'arn:y', context });
    expect(stubbed.iam.commandCalls(SimulatePrincipalPolicyCommand)[0]?.args[0].input).toEqual({
      PolicySourceArn: 'arn:x',
      ActionNames: ['iam:CreateRole'],
      ResourceArns: ['arn:y'],
      ContextEntries: [
        {
          ContextKeyName: 'iam:PermissionsBoundary',
          ContextKeyValues: ['arn:aws:iam::123456789012:policy/p'],
          ContextKeyType: 'string',
        },
      ],
    });
  });

  it('say who denies a call', async () => {
    const answer = (rest: object) => ({
      EvalActionName: 's3:GetObject',
      EvalDecision: 'implicitDeny' as const,
      ...rest,
    });
    stubbed.iam.onAnyCommand().resolves({
      EvaluationResults: [
        answer({ EvalDecision: 'allowed' }),
        answer({ OrganizationsDecisionDetail: { AllowedByOrganizations: false } }),
        answer({ PermissionsBoundaryDecisionDetail: { AllowedByPermissionsBoundary: false } }),
        answer({}),
      ],
    });
    const look = await view.decisions({ roleArn: 'arn:x', actions: ['s3:GetObject'], resource: '*' });
    expect(
      look.kind === 'seen' && look.value?.map(({ isAllowed: may, deniedBy }) => deniedBy ?? may),
    ).toEqual([true, 'organization', 'boundary', 'policy']);
  });
});

describe('the needed rights', () => {
  it('are those of the template', async () => {
    const { template } = await packaged();
    const roles = rolesOf(template);
    const names = {
      bucketArn: String(resolve(template, { 'Fn::GetAtt': ['DataBucket', 'Arn'] })),
      stateMachineArn: String(resolve(template, { Ref: 'RunStateMachine' })),
      partition: 'aws',
      region: 'us-east-1',
      account: '123456789012',
      stage: 'dev',
      trainingPolicyArn: String(resolve(template, { Ref: 'TrainingPolicy' })),
    };
    for (const { role: id, actions, resource, context } of NEEDED_RIGHTS) {
      const role = roles.find((each) => each.id === id);
      if (role === undefined) throw new Error(`the template has no ${id}`);
      for (const action of actions)
        expect([
          id,
          action,
          await isAllowed(role, { action, resource: resource(names), context: context?.(names) ?? {} }),
        ]).toEqual([id, action, true]);
    }
  }, 300_000);
});
