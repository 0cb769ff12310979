/** Opens a deployment for a command: its stack, its declared pipelines, and the account around it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { accountView } from '../../functions/aws/account/account-view.ts';
import { look } from '../../functions/aws/account/look.ts';
import { readStack } from '../../functions/aws/account/stack.ts';
import { testObjectIn } from '../../functions/aws/account/test-object.ts';
import { dynamoStores } from '../../functions/aws/dynamodb/stores.ts';
import { s3ObjectStore } from '../../functions/aws/s3/object-store.ts';
import * as account from '../../functions/aws/shared/account-clients.ts';
import { dynamo, s3, s3In } from '../../functions/aws/shared/clients.ts';
import { ec2In, iam } from '../../functions/aws/shared/compute-clients.ts';
import type { AccountView, Stack } from '../../functions/core/deployment/account-view.ts';
import type { TestObjectDeps } from '../../functions/core/deployment/arrivals.ts';
import type { CheckDeps } from '../../functions/core/deployment/check-deployment.ts';
import { deploymentOf, readDeclarations } from '../../functions/core/deployment/declarations.ts';

export interface Deployment extends Omit<CheckDeps, 'testObject'> {
  readonly testObject: TestObjectDeps;
}

/** @throws Error with a remedy if the stack cannot be read */
export async function openDeployment({
  stage,
  region,
}: {
  readonly stage: string;
  readonly region: string;
}): Promise<Deployment> {
  const stack = await stackOf(stage, region);
  const bucket = outputOf(stack, 'DataBucketName');
  const { testObjects } = dynamoStores(dynamo(), outputOf(stack, 'TableName'));
  const stateMachineArn = outputOf(stack, 'RunStateMachineArn');
  const deployment = deploymentOf(stack, { bucket, stateMachineArn });
  return {
    stack,
    stage,
    bucket,
    region,
    stateMachineArn,
    viewIn,
    packers: deployment.packers,
    ...(await readDeclarations(s3ObjectStore(s3(), bucket), deployment)),
    testObject: {
      testObjects,
      ...testObjectIn(s3(), bucket),
      now: () => new Date(),
      sleep: (milliseconds) => sleep(milliseconds),
    },
  };
}

async function stackOf(stage: string, region: string): Promise<Stack> {
  const name = `tidewheel-${stage}`;
  const stack = await look('cloudformation:DescribeStacks', () => readStack(account.cloudFormation(), name));
  if (stack.kind === 'refused') throw new Error(`the stack ${name} cannot be read: ${stack.why}`);
  if (stack.value === undefined)
    throw new Error(
      `there is no stack ${name} in ${region}: npx osls deploy --stage ${stage} --region ${region}`,
    );
  return stack.value;
}

function outputOf({ outputs, status }: Stack, name: string): string {
  const value = outputs.get(name);
  if (value === undefined) throw new Error(`the stack has no output ${name} (${status}): deploy again`);
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
