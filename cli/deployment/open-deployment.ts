/** Opens a deployment for a command: its stack, its declared pipelines, and the account around it. */

import { setTimeout as sleep } from 'node:timers/promises';
import { accountView, testObjectIn } from '../../functions/aws/account/account-view.ts';
import { readStack, stackNames } from '../../functions/aws/account/stack.ts';
import { dynamoStores } from '../../functions/aws/dynamodb/stores.ts';
import { s3ObjectStore } from '../../functions/aws/s3/object-store.ts';
import * as account from '../../functions/aws/shared/account-clients.ts';
import { describeError } from '../../functions/aws/shared/aws-errors.ts';
import { dynamo, s3, s3In } from '../../functions/aws/shared/clients.ts';
import { ec2In, iam } from '../../functions/aws/shared/compute-clients.ts';
import type { AccountView, StackView } from '../../functions/check/account-view.ts';
import type { TestObjectDeps } from '../../functions/check/arrivals.ts';
import type { CheckDeps } from '../../functions/check/check-deployment.ts';
import { deploymentOf, readDeclarations } from '../../functions/check/declarations.ts';
import { awsErrorClass } from '../../functions/records/aws-error-class.ts';
import type { DeploymentRules as AllowedDeployment } from '../../functions/run/ingest/allowed.ts';
import { networkRemedy } from './surroundings.ts';

export interface OpenDeployment extends Omit<CheckDeps, 'testObject'>, AllowedDeployment {
  readonly testObject: TestObjectDeps;
}

const STACK_PREFIX = 'tidewheel-';
const stackName = (stage: string): string => STACK_PREFIX + stage;
const stageOf = (name: string): string | undefined =>
  name.startsWith(STACK_PREFIX) ? name.slice(STACK_PREFIX.length) : undefined;

interface Place {
  readonly stage: string;
  readonly region: string;
}

/** @throws Error with a remedy if the stack cannot be read */
export async function openDeployment({ stage, region }: Place): Promise<OpenDeployment> {
  const stack = await stackOf({ stage, region });
  const bucket = outputOf(stack, 'DataBucketName', { stage, region });
  const { testObjects } = dynamoStores(dynamo(), outputOf(stack, 'TableName', { stage, region }));
  const stateMachineArn = outputOf(stack, 'RunStateMachineArn', { stage, region });
  const deployment = deploymentOf(stack, { bucket, stateMachineArn });
  return {
    stack,
    stage,
    region,
    stateMachineArn,
    viewIn,
    ...deployment,
    ...(await readDeclarations(s3ObjectStore(s3(), bucket), deployment)),
    testObject: {
      testObjects,
      ...testObjectIn(s3(), bucket),
      now: () => new Date(),
      sleep: (milliseconds) => sleep(milliseconds),
    },
  };
}

async function stackOf({ stage, region }: Place): Promise<StackView> {
  const name = stackName(stage);
  const client = account.cloudFormation();
  let stack: StackView | undefined;
  try {
    stack = await readStack(client, name);
  } catch (error: unknown) {
    const remedy =
      networkRemedy(error, process.env) ?? remedyOfAnswer(error, process.env['AWS_ENDPOINT_URL']);
    throw new Error(`the stack ${name} cannot be read: ${remedy}`, { cause: error });
  }
  if (stack !== undefined) return stack;
  const others = (await stackNames(client)).flatMap((each) => stageOf(each) ?? []);
  const there = others.length === 0 ? '' : `; there are those of --stage ${others.join(', ')}`;
  throw new Error(
    `--stage is "${stage}" and AWS_REGION is "${region}", and there is no stack ${name}${there}. Deploy it: ${deployCommand({ stage, region })}`,
  );
}

/** Of an error that CloudFormation, or what stands at its address, answered. */
function remedyOfAnswer(error: unknown, endpoint: string | undefined): string {
  const [why = ''] = describeError(error).split('\n');
  if (awsErrorClass(error) === 'access')
    return `${why}: allow cloudformation:DescribeStacks and cloudformation:ListStackResources to these credentials`;
  return endpoint === undefined
    ? why
    : `AWS_ENDPOINT_URL is "${endpoint}", which does not answer as CloudFormation (${why}): paste the line "for a shell" of npm start`;
}

const deployCommand = ({ stage, region }: Place): string =>
  `npx osls deploy --stage ${stage} --region ${region}`;

function outputOf({ outputs, status }: StackView, name: string, place: Place): string {
  const value = outputs.get(name);
  if (value === undefined)
    throw new Error(
      `the stack ${stackName(place.stage)} is ${status} and has no output ${name}. Deploy it again: ${deployCommand(place)}`,
    );
  return value;
}

const viewIn = (region: string): AccountView =>
  accountView({
    region,
    ec2: ec2In(region),
    ecr: account.ecrIn(region),
    iam: iam(),
    lambda: account.lambda(),
    s3: s3In(region),
    secrets: account.secretsManagerIn(region),
    quotas: account.serviceQuotasIn(region),
    sqs: account.sqs(),
    ssm: account.ssmIn(region),
  });
