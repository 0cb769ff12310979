/** Every patch but those of S3. */
import { once } from 'node:events';
import net from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateScheduleCommand, SchedulerClient, UpdateScheduleCommand } from '@aws-sdk/client-scheduler';
import {
  CreateStateMachineCommand,
  DescribeExecutionCommand,
  DescribeMapRunCommand,
  ListMapRunsCommand,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import { describe, expect, it } from 'vitest';
import * as z from 'zod';
import { clientConfiguration } from '../../../../test/support/emulator.ts';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';
import { createFunction, invoke } from './lambda.ts';

const FAILS_BY_CLASS = `
class PoolGoneBad extends Error { name = 'PoolGoneBad'; }
export const handler = async () => { throw new PoolGoneBad('no capacity'); };`;

const patched = emulatorOfSuite({ environment: { AWS_ENDPOINT_URL_SAGEMAKER: 'http://127.0.0.1:9' } });
describe('the class of a Lambda error', () => {
  it('reaches errorType with the trace', async () => {
    await createFunction(patched.url, 'fails', FAILS_BY_CLASS);
    const answer = await invoke(patched.url, 'fails');
    expect(answer).toMatchObject({ errorType: 'PoolGoneBad', errorMessage: 'no capacity' });
    expect(answer['trace']).toContain('PoolGoneBad: no capacity');
  });

  it('is caught by its name in a state machine', async () => {
    const arn = await createFunction(patched.url, 'fails-in-a-state', FAILS_BY_CLASS);
    expect(await runCatching(patched.url, arn)).toEqual({ caught: 'by class' });
  });

  it('names the type of a thrown non-error', async () => {
    await createFunction(
      patched.url,
      'throws-text',
      `export const handler = async () => { throw 'only text'; };`,
    );
    expect(await invoke(patched.url, 'throws-text')).toMatchObject({
      errorType: 'string',
      errorMessage: 'only text',
    });
  });

  it('is Runtime.ExitError when the process ends', async () => {
    await createFunction(patched.url, 'exits', 'export const handler = async () => process.exit(3);');
    expect(await invoke(patched.url, 'exits')).toMatchObject({ errorType: 'Runtime.ExitError' });
  });
});

describe('a Lambda function', () => {
  it('sees the given endpoints, and no user credentials', async () => {
    await createFunction(
      patched.url,
      'sees',
      `export const handler = async () => ({ node: process.version, sagemaker: process.env.AWS_ENDPOINT_URL_SAGEMAKER,
         emulator: process.env.AWS_ENDPOINT_URL, profile: process.env.AWS_PROFILE ?? null, files: process.env.AWS_CONFIG_FILE });`,
    );
    expect(await invoke(patched.url, 'sees')).toEqual({
      node: process.version,
      sagemaker: 'http://127.0.0.1:9',
      emulator: patched.url,
      profile: null,
      files: '/dev/null',
    });
  });

  it('waits when more than eight run at once', async () => {
    await createFunction(
      patched.url,
      'slow',
      `export const handler = async () => {
         const began = Date.now();
         await new Promise((resolve) => setTimeout(resolve, 2000));
         return { began, ended: Date.now() };
       };`,
    );
    const answers = await Promise.all(Array.from({ length: 12 }, () => invoke(patched.url, 'slow')));
    const spans = answers.map((answer) => z.object({ began: z.number(), ended: z.number() }).parse(answer));
    const atOnce = (moment: number) =>
      spans.filter(({ began, ended }) => began <= moment && moment < ended).length;
    expect(Math.max(...spans.map(({ began }) => atOnce(began)))).toBe(8);
  });
});

describe.runIf(process.platform === 'linux')('the address it listens on', () => {
  it('is 127.0.0.1 alone', async () => {
    expect(await connects('127.0.0.1', patched.url)).toBe(true);
    expect(await connects('127.0.0.2', patched.url)).toBe(false);
  });
});

describe('a task that waits for its token', () => {
  const resource = 'arn:aws:states:::lambda:invoke.waitForTaskToken';

  it('fails by the class of its function', async () => {
    const arn = await createFunction(patched.url, 'fails-before-it-answers', FAILS_BY_CLASS);
    expect(await runCatching(patched.url, arn, resource)).toEqual({ caught: 'by class' });
  });
});

describe('a distributed Map', () => {
  it('takes its concurrency from a path', async () => {
    expect(await concurrencyOfMap(patched.url)).toBe(3);
  });
});

describe('a schedule that can never come', () => {
  const IMPOSSIBLE = [
    'cron(99 3 * * ? *)',
    'cron(0 24 * * ? *)',
    'cron(0 3 32 * ? *)',
    'cron(0 3 * 13 ? *)',
    'cron(0 3 * * * *)',
    'rate(1 days)',
    'rate(2 day)',
    'rate(0 days)',
    'every day',
  ];

  it('is refused at its creation and its change', async () => {
    const { create, update } = schedules(patched.url);
    await create('kept', 'rate(1 day)');
    for (const expression of IMPOSSIBLE) {
      const refused = { name: 'ValidationException', message: `Invalid Schedule Expression ${expression}.` };
      await expect(create('refused', expression)).rejects.toMatchObject(refused);
      await expect(update('kept', expression)).rejects.toMatchObject(refused);
    }
  });

  it('leaves possible ones alone', async () => {
    const { create } = schedules(patched.url);
    const possible = ['rate(2 hours)', 'cron(0/15 9-17 ? * MON-FRI 2026)', 'cron(0 0 LW JAN,JUN ? *)'];
    for (const [index, expression] of [...possible, 'cron(0 10 ? * TUE#2 *)'].entries())
      expect(await create(`possible-${index}`, expression)).toHaveProperty('ScheduleArn');
  });
});

function schedules(url: string) {
  const scheduler = new SchedulerClient(clientConfiguration(url));
  const of = (Name: string, ScheduleExpression: string) => ({
    Name,
    ScheduleExpression,
    FlexibleTimeWindow: { Mode: 'OFF' as const },
    Target: {
      Arn: 'arn:aws:sqs:us-east-1:000000000000:none',
      RoleArn: 'arn:aws:iam::000000000000:role/none',
    },
  });
  return {
    create: (name: string, expression: string) =>
      scheduler.send(new CreateScheduleCommand(of(name, expression))),
    update: (name: string, expression: string) =>
      scheduler.send(new UpdateScheduleCommand(of(name, expression))),
  };
}

async function concurrencyOfMap(url: string): Promise<number | undefined> {
  const sfn = new SFNClient(clientConfiguration(url));
  const { stateMachineArn } = await sfn.send(
    new CreateStateMachineCommand({
      name: 'maps',
      roleArn: 'arn:aws:iam::000000000000:role/none',
      definition: JSON.stringify({
        StartAt: 'Each',
        States: {
          Each: {
            Type: 'Map',
            ItemsPath: '$.items',
            MaxConcurrencyPath: '$.atOnce',
            ItemProcessor: {
              ProcessorConfig: { Mode: 'DISTRIBUTED', ExecutionType: 'STANDARD' },
              StartAt: 'Nothing',
              States: { Nothing: { Type: 'Pass', End: true } },
            },
            End: true,
          },
        },
      }),
    }),
  );
  const input = JSON.stringify({ items: [1, 2, 3, 4], atOnce: 3 });
  const { executionArn } = await sfn.send(new StartExecutionCommand({ stateMachineArn, input }));
  for (;;) {
    const { status } = await sfn.send(new DescribeExecutionCommand({ executionArn }));
    if (status === 'RUNNING') {
      await sleep(50);
      continue;
    }
    const { mapRuns } = await sfn.send(new ListMapRunsCommand({ executionArn }));
    const run = new DescribeMapRunCommand({ mapRunArn: mapRuns?.[0]?.mapRunArn });
    return (await sfn.send(run)).maxConcurrency;
  }
}

async function runCatching(
  url: string,
  functionArn: string,
  resource = 'arn:aws:states:::lambda:invoke',
): Promise<unknown> {
  const sfn = new SFNClient(clientConfiguration(url));
  const { stateMachineArn } = await sfn.send(
    new CreateStateMachineCommand({
      name: resource.endsWith('Token') ? 'catches-waiting' : 'catches',
      roleArn: 'arn:aws:iam::000000000000:role/none',
      definition: JSON.stringify({
        StartAt: 'Try',
        States: {
          Try: {
            Type: 'Task',
            Resource: resource,
            TimeoutSeconds: 5,
            Parameters: {
              FunctionName: functionArn,
              Payload: resource.endsWith('Token') ? { 'token.$': '$$.Task.Token' } : {},
            },
            Catch: [
              { ErrorEquals: ['PoolGoneBad'], Next: 'ByClass' },
              { ErrorEquals: ['States.ALL'], Next: 'ByNothing' },
            ],
            End: true,
          },
          ByClass: { Type: 'Pass', Result: { caught: 'by class' }, End: true },
          ByNothing: { Type: 'Pass', Result: { caught: 'by States.ALL' }, End: true },
        },
      }),
    }),
  );
  const { executionArn } = await sfn.send(new StartExecutionCommand({ stateMachineArn, input: '{}' }));
  for (;;) {
    const { status, output } = await sfn.send(new DescribeExecutionCommand({ executionArn }));
    if (status !== 'RUNNING') return JSON.parse(output ?? 'null');
    await sleep(50);
  }
}

async function connects(host: string, url: string): Promise<boolean> {
  const socket = net.connect({ host, port: Number(new URL(url).port) });
  const connected = await once(socket, 'connect').then(
    () => true,
    () => false,
  );
  socket.destroy();
  return connected;
}
