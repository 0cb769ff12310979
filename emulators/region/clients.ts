/** AWS clients of the local region: the same SDK, pointed at the endpoints of this machine. */
import { CloudFormationClient, DescribeStacksCommand } from '@aws-sdk/client-cloudformation';
import { EC2Client } from '@aws-sdk/client-ec2';
import { LambdaClient } from '@aws-sdk/client-lambda';
import { S3Client } from '@aws-sdk/client-s3';
import { SageMakerClient } from '@aws-sdk/client-sagemaker';
import { SFNClient } from '@aws-sdk/client-sfn';
import { type AccessKey, keyVariables } from '../access/access-key.ts';

export const REGION = 'us-east-1';
export const ACCOUNT_ID = '000000000000';

export interface Endpoints {
  /** S3, Step Functions, Lambda, EventBridge, ... */
  readonly aws: string;
  readonly sageMaker: string;
  readonly ec2: string;
}

/** What a shell needs so that the AWS CLI or boto3 talk to this region. */
export const environmentFor = (endpoints: Endpoints, credentials: AccessKey): Record<string, string> => ({
  ...keyVariables(credentials),
  AWS_REGION: REGION,
  AWS_DEFAULT_REGION: REGION,
  AWS_ENDPOINT_URL: endpoints.aws,
  AWS_ENDPOINT_URL_SAGEMAKER: endpoints.sageMaker,
  AWS_ENDPOINT_URL_EC2: endpoints.ec2,
});

export interface LocalClients {
  readonly s3: S3Client;
  readonly lambda: LambdaClient;
  readonly stepFunctions: SFNClient;
  readonly sageMaker: SageMakerClient;
  readonly ec2: EC2Client;
  readonly cloudFormation: CloudFormationClient;
}

export function localClients(endpoints: Endpoints, credentials: AccessKey): LocalClients {
  const common = { region: REGION, credentials };
  const aws = { ...common, endpoint: endpoints.aws };
  return {
    s3: new S3Client({ ...aws, forcePathStyle: true }),
    lambda: new LambdaClient(aws),
    stepFunctions: new SFNClient(aws),
    cloudFormation: new CloudFormationClient(aws),
    sageMaker: new SageMakerClient({ ...common, endpoint: endpoints.sageMaker }),
    ec2: new EC2Client({ ...common, endpoint: endpoints.ec2 }),
  };
}

export interface DeployedStack {
  readonly bucket: string;
  readonly table: string;
  readonly apiUrl: string;
  readonly stateMachineArn: string;
}

export const STACK_NAME = 'tidewheel-dev';

/** The outputs of the deployed stack, or undefined when it is not (wholly) there. */
export async function findStack(cloudFormation: CloudFormationClient): Promise<DeployedStack | undefined> {
  const outputs = await stackOutputs(cloudFormation);
  const bucket = outputs.get('DataBucketName');
  const table = outputs.get('TableName');
  const apiUrl = outputs.get('ApiUrl') ?? outputs.get('HttpApiUrl');
  const stateMachineArn = outputs.get('RunStateMachineArn');
  return bucket && table && apiUrl && stateMachineArn
    ? { bucket, table, apiUrl, stateMachineArn }
    : undefined;
}

async function stackOutputs(cloudFormation: CloudFormationClient): Promise<Map<string, string>> {
  try {
    const { Stacks } = await cloudFormation.send(new DescribeStacksCommand({ StackName: STACK_NAME }));
    const stack = Stacks?.[0];
    if (!/^(CREATE|UPDATE)_COMPLETE$/.test(stack?.StackStatus ?? '')) return new Map();
    return new Map(
      (stack?.Outputs ?? []).map(({ OutputKey = '', OutputValue = '' }) => [OutputKey, OutputValue]),
    );
  } catch (error: unknown) {
    // CloudFormation answers ValidationError for a stack that is not there.
    if (error instanceof Error && error.name === 'ValidationError') return new Map();
    throw error;
  }
}
