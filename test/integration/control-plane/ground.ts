/** What the stack would have made, made by hand in an emulator: bucket, table, state machine, schedule group. */

import { setTimeout as sleep } from 'node:timers/promises';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { CreateScheduleGroupCommand, GetScheduleCommand, SchedulerClient } from '@aws-sdk/client-scheduler';
import {
  CreateStateMachineCommand,
  DescribeExecutionCommand,
  GetExecutionHistoryCommand,
  SFNClient,
  StopExecutionCommand,
} from '@aws-sdk/client-sfn';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { eventBridgeSchedules } from '../../../functions/aws/events/event-bridge.ts';
import { stepFunctionsExecutions } from '../../../functions/aws/stepfunctions/executions.ts';
import type { ExecutionsGround } from '../../support/contracts/executions.ts';
import type { SchedulesGround } from '../../support/contracts/schedules.ts';
import { clientConfiguration } from '../../support/emulator.ts';
import { objectStoreOf } from '../../support/test-bucket.ts';

export async function makeObjectStore(url: string, bucket: string): Promise<ObjectStore> {
  const s3 = new S3Client({ ...clientConfiguration(url), forcePathStyle: true });
  await s3.send(new CreateBucketCommand({ Bucket: bucket }));
  return objectStoreOf(s3, bucket);
}

const GROUP = 'tidewheel-test';

export async function makeSchedules(url: string): Promise<SchedulesGround> {
  const scheduler = new SchedulerClient(clientConfiguration(url));
  await scheduler.send(new CreateScheduleGroupCommand({ Name: GROUP }));
  const schedules = eventBridgeSchedules(scheduler, {
    groupName: GROUP,
    queueArn: 'arn:aws:sqs:us-east-1:000000000000:arrivals',
    roleArn: 'arn:aws:iam::000000000000:role/scheduler',
  });
  return {
    schedules,
    read: async (pipeline) => {
      try {
        const found = await scheduler.send(new GetScheduleCommand({ Name: pipeline, GroupName: GROUP }));
        return found.ScheduleExpression;
      } catch (error: unknown) {
        if (error instanceof Error && error.name === 'ResourceNotFoundException') return undefined;
        throw error;
      }
    },
  };
}

/** An activity is the smallest thing that waits for an answer and gives its waiter a token. */
const definitionOf = (activityArn: string) =>
  JSON.stringify({
    StartAt: 'Mode',
    States: {
      Mode: {
        Type: 'Choice',
        Choices: [
          { Variable: '$.pipeline', StringEquals: 'ends', Next: 'End' },
          { Variable: '$.pipeline', StringEquals: 'held', Next: 'Held' },
          { Variable: '$.pipeline', StringEquals: 'token', Next: 'Token' },
        ],
        Default: 'Wait',
      },
      Wait: { Type: 'Wait', Seconds: 3_600, Next: 'End' },
      Token: { Type: 'Task', Resource: activityArn, TimeoutSeconds: 600, End: true },
      Held: { Type: 'Fail', Error: 'UnreadableRecordError' },
      End: { Type: 'Succeed' },
    },
  });

const ATTEMPTS = 100;
const PAUSE_MS = 100;

/** @param takeToken gets the activity's ARN and answers the next token that waits */
export async function makeExecutions(
  url: string,
  activityArn: string,
  takeToken: () => Promise<string>,
): Promise<ExecutionsGround> {
  const sfn = new SFNClient(clientConfiguration(url));
  const { stateMachineArn } = await sfn.send(
    new CreateStateMachineCommand({
      name: 'contract',
      definition: definitionOf(activityArn),
      roleArn: 'arn:aws:iam::000000000000:role/states',
    }),
  );
  if (stateMachineArn === undefined) throw new Error('the emulator made no state machine');
  const arnOf = (name: string) => `${stateMachineArn.replace(':stateMachine:', ':execution:')}:${name}`;
  const executions = stepFunctionsExecutions(sfn, stateMachineArn);
  const until = async (name: string, status: 'running' | 'ended' | 'held') => {
    for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
      if ((await executions.status(name)) === status) return;
      await sleep(PAUSE_MS);
    }
    const { events } = await sfn.send(new GetExecutionHistoryCommand({ executionArn: arnOf(name) }));
    throw new Error(`${name} is not ${status}: ${JSON.stringify(events)}`);
  };
  return {
    executions,
    // MiniStack takes the answer and drops it; a corrected one makes this test fail, and this line goes.
    afterStop: 'delivered',
    until,
    tokenOf: takeToken,
    stop: async (name) => {
      await sfn.send(new StopExecutionCommand({ executionArn: arnOf(name) }));
      await until(name, 'ended');
    },
    outputOf: async (name) => {
      await until(name, 'ended');
      const { output } = await sfn.send(new DescribeExecutionCommand({ executionArn: arnOf(name) }));
      return JSON.parse(output ?? 'null') as unknown;
    },
  };
}
