/** An account in which nothing would fail, to be varied by the tests. */
import type {
  AccountView,
  MachineImage,
  Network,
  Quota,
  StackView,
} from '../../../functions/check/account-view.ts';
import type { AwsAnswer } from '../../../functions/check/finding.ts';

export const seen = <T>(value: T): AwsAnswer<T> => ({ kind: 'seen', value });

export const denied = (action: string): AwsAnswer<never> => ({
  kind: 'refused',
  action,
  isDenied: true,
  why: 'AccessDeniedException: not authorized',
});

export const quota = (name: string, value: number, code = `L-${name.length}`): Quota => ({
  name,
  code,
  value,
});

/** One subnet with a NAT gateway, and a group whose members meet. */
export const network = (over: Partial<Network> = {}): Network => ({
  subnets: [
    {
      id: 'subnet-a',
      region: 'us-east-1',
      zoneId: 'use1-az1',
      vpcId: 'vpc-1',
      freeAddresses: 250,
      assignsPublicAddress: false,
      routeTableId: 'rtb-1',
      routes: [
        { destination: '10.0.0.0/16', via: 'local', isActive: true },
        { destination: '0.0.0.0/0', via: 'natGateway', isActive: true },
      ],
    },
  ],
  endpoints: [],
  securityGroups: [{ id: 'sg-1', vpcId: 'vpc-1', allowsOwnInbound: true, allowsOwnOutbound: true }],
  ...over,
});

const IMAGE: MachineImage = {
  id: 'ami-0123456789abcdef0',
  state: 'available',
  architecture: 'x86_64',
  rootDevice: '/dev/xvda',
};

export const stack = (over: Partial<StackView> = {}): StackView => ({
  status: 'UPDATE_COMPLETE',
  outputs: new Map(),
  resources: new Map(
    ['LaunchRole', 'PackShardsRole', 'OnArrivalRole']
      .map((role): [string, string] => [role, `tidewheel-dev-${role}`])
      .concat([
        ['TrainingPolicy', 'arn:aws:iam::123456789012:policy/tidewheel-dev-TrainingPolicy-AB12'],
        ['OnDasharrivalLambdaFunction', 'tidewheel-dev-on-arrival'],
        ['ArrivalsDeadLetters', 'https://sqs.us-east-1.amazonaws.com/123456789012/dead'],
      ]),
  ),
  ...over,
});

export const account = (over: Partial<AccountView> = {}): AccountView => ({
  region: 'us-east-1',
  concurrency: async () => seen({ account: 1_000, unreserved: 1_000 }),
  quotas: async () =>
    seen([
      quota('ml.g5.xlarge for spot training job usage', 8, 'L-SPOT'),
      quota('ml.g5.xlarge for training job usage', 8, 'L-ONDEMAND'),
      quota('Longest run time for a training job', 432_000, 'L-RUN'),
      quota('All G and VT Spot Instance Requests', 64, 'L-3819A6DF'),
      quota('Running On-Demand G and VT instances', 64, 'L-DB2E81BA'),
    ]),
  hasSpotRole: async () => seen(true),
  network: async () => seen(network()),
  machineImage: async () => seen(IMAGE),
  hasContainerImage: async () => seen(true),
  hasSecret: async () => seen(true),
  hasBucket: async () => seen(true),
  sendsEvents: async () => seen(true),
  readerState: async () => seen('Enabled'),
  messagesIn: async () => seen(0),
  decisions: async ({ actions }) => seen(actions.map((action) => ({ action, isAllowed: true }))),
  ...over,
});
