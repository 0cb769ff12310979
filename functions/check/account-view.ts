/** Ports of the check: what it reads of an account and changes nothing of. Adapters are in functions/aws/account. */

import type { LauncherName } from '@tidewheel/declaration/launchers.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { AwsAnswer } from './finding.ts';

export interface StackView {
  /** CloudFormation's, such as UPDATE_COMPLETE. */
  readonly status: string;
  readonly outputs: ReadonlyMap<string, string>;
  /** Physical names by logical ones. */
  readonly resources: ReadonlyMap<string, string>;
}

export interface Quota {
  readonly name: string;
  readonly code: string;
  readonly value: number;
}

/** Service Quotas names the services of the launchers as declarations do. */
export type QuotaService = LauncherName;

/** Whose quotas are judged. */
export interface QuotaQuestion {
  /** Those that may use the launcher in the region. */
  readonly pipelines: readonly Pipeline[];
  readonly region: string;
  readonly launcher: LauncherName;
}

export interface LambdaConcurrency {
  readonly account: number;
  /** Of the account's, those that no function has reserved. */
  readonly unreserved: number;
}

/** The path that traffic takes; `other` is a transit gateway, an appliance, a peering connection or the like. */
export interface Route {
  readonly destination: string;
  readonly via: 'internetGateway' | 'natGateway' | 'endpoint' | 'local' | 'other';
  readonly isActive: boolean;
}

export interface Subnet {
  readonly id: string;
  readonly region: string;
  readonly zoneId: string;
  readonly vpcId: string;
  readonly freeAddresses: number;
  readonly assignsPublicAddress: boolean;
  readonly routeTableId: string | undefined;
  readonly routes: readonly Route[];
}

export interface Endpoint {
  readonly vpcId: string;
  /** The last part of the service's name: s3, logs, secretsmanager. */
  readonly service: string;
  readonly kind: 'gateway' | 'interface';
  readonly routeTableIds: readonly string[];
  readonly isAvailable: boolean;
}

export interface SecurityGroup {
  readonly id: string;
  readonly vpcId: string;
  /** Whether all traffic between members is allowed, in each direction. */
  readonly allowsOwnInbound: boolean;
  readonly allowsOwnOutbound: boolean;
}

export interface Network {
  readonly subnets: readonly Subnet[];
  readonly endpoints: readonly Endpoint[];
  readonly securityGroups: readonly SecurityGroup[];
}

export interface MachineImage {
  readonly id: string;
  readonly state: string;
  /** x86_64 or arm64 */
  readonly architecture: string;
  readonly rootDevice: string;
}

/** A question to IAM's policy simulator. */
export interface RoleQuestion {
  readonly roleArn: string;
  readonly actions: readonly string[];
  readonly resource: string;
  /** Values of the condition keys that the request will have. */
  readonly context?: Readonly<Record<string, string>> | undefined;
}

export interface SimulatedDecision {
  readonly action: string;
  readonly isAllowed: boolean;
  /** `organization` is a service control policy, `boundary` a permissions boundary. */
  readonly deniedBy?: 'organization' | 'boundary' | 'policy';
}

/** What stands around the training of a pipeline. Every look answers; none throws. A thing that does not exist is undefined. */
export interface TrainingView {
  readonly region: string;
  quotas(service: QuotaService): Promise<AwsAnswer<readonly Quota[]>>;
  hasSpotRole(): Promise<AwsAnswer<boolean>>;
  network(names: {
    readonly subnetIds: readonly string[];
    readonly securityGroupIds: readonly string[];
  }): Promise<AwsAnswer<Network>>;
  /** @param reference ami-… or resolve:ssm:… */
  machineImage(reference: string): Promise<AwsAnswer<MachineImage | undefined>>;
  hasContainerImage(uri: string): Promise<AwsAnswer<boolean>>;
  hasSecret(arn: string): Promise<AwsAnswer<boolean>>;
  hasBucket(name: string): Promise<AwsAnswer<boolean>>;
  /** undefined: there is no such role. */
  decisions(question: RoleQuestion): Promise<AwsAnswer<readonly SimulatedDecision[] | undefined>>;
}

export interface AccountView extends TrainingView {
  concurrency(): Promise<AwsAnswer<LambdaConcurrency>>;
  /** Whether the bucket sends the creation of objects to EventBridge or to a queue. */
  sendsEvents(bucket: string): Promise<AwsAnswer<boolean>>;
  /** How Lambda calls the state of the mapping from a function's queue, such as Enabled. */
  readerState(functionName: string): Promise<AwsAnswer<string>>;
  /** Hidden ones, too. */
  messagesIn(queueUrl: string): Promise<AwsAnswer<number>>;
}
