/** Opens a deployment for a command: its stack, its declared pipelines, and the account around it. */

import { setTimeout as sleep } from 'node:timers/promises';
import { accountView, testObjectIn } from '../../functions/aws/account/account-view.ts';
import { look } from '../../functions/aws/account/look.ts';
import { dynamoStores } from '../../functions/aws/dynamodb/stores.ts';
import { reservationSource } from '../../functions/aws/market/reservations.ts';
import { openObjectStore, regionOfBucket } from '../../functions/aws/s3/open-store.ts';
import * as account from '../../functions/aws/shared/account-clients.ts';
import { dynamo, s3, s3In } from '../../functions/aws/shared/clients.ts';
import { ec2In, iam, sageMakerIn } from '../../functions/aws/shared/compute-clients.ts';
import type { AccountView } from '../../functions/check/account-view.ts';
import type { TestObjectDeps } from '../../functions/check/arrivals.ts';
import type { CheckDeps } from '../../functions/check/check-deployment.ts';
import { deploymentOf, readDeclarations } from '../../functions/check/declarations.ts';
import type { DeploymentRules as AllowedDeployment } from '../../functions/run/ingest/allowed.ts';
import type { ChosenDeployment } from './chosen-deployment.ts';

export interface OpenDeployment extends Omit<CheckDeps, 'testObject'>, AllowedDeployment {
  readonly testObject: TestObjectDeps;
}

type Chosen = Pick<ChosenDeployment, 'stack' | 'title' | 'stage' | 'region' | 'bucket' | 'table'>;

/** @throws Error with a remedy if the stack has no state machine */
export async function openDeployment({
  stack,
  title,
  stage,
  region,
  bucket,
  table,
}: Chosen): Promise<OpenDeployment> {
  const stateMachineArn = stack.outputs.get('RunStateMachineArn');
  if (stateMachineArn === undefined)
    throw new Error(`the ${title} is ${stack.status} and has no state machine: deploy it again`);
  const { pipelines, testObjects } = dynamoStores(dynamo(), table);
  const deployment = deploymentOf(stack, { bucket, stateMachineArn });
  return {
    stack,
    stage,
    region,
    stateMachineArn,
    viewIn,
    reserved: {
      source: reservationSource({
        ec2: () => ec2In(region),
        sageMaker: () => sageMakerIn(region),
        region,
        accountId: stateMachineArn.split(':')[4] ?? '',
      }),
      now: () => new Date(),
    },
    ...deployment,
    ...(await readDeclarations(openObjectStore({ bucket }), deployment)),
    recorded: await look('dynamodb:Query', async () => (await pipelines.list()).map(({ name }) => name)),
    testObject: {
      testObjects,
      ...testObjectIn(s3(), bucket),
      now: () => new Date(),
      sleep: (milliseconds) => sleep(milliseconds),
    },
  };
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
    regionOfBucket: (bucket) => regionOfBucket(bucket, region),
  });
