/** The emulator on a virtual clock: executions, schedules and functions go by it, and it waits for their work. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { EventBridgeClient, PutRuleCommand, PutTargetsCommand } from '@aws-sdk/client-eventbridge';
import {
  CreateStateMachineCommand,
  DescribeExecutionCommand,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import * as z from 'zod';
import {
  clientConfiguration,
  startTestEmulator,
  type TestEmulator,
} from '../../../../test/support/emulator.ts';
import { folderOfSuite } from '../../../../test/support/folders.ts';
import { emulatorFollower, VirtualClock } from '../../../clock/virtual-clock.ts';
import { createFunction, invoke } from '../aws/lambda.ts';

const START = Date.UTC(2026, 0, 1);
const DAY_MS = 86_400_000;
const folder = folderOfSuite('time');
let clock: VirtualClock;
let emulator: TestEmulator;
let stepFunctions: SFNClient;

beforeAll(async () => {
  const clockFile = join(folder, 'clock');
  clock = new VirtualClock({ file: clockFile, startMs: START, log: () => undefined });
  emulator = await startTestEmulator({ clockFile });
  clock.follow(emulatorFollower(emulator.url, () => undefined));
  stepFunctions = new SFNClient(clientConfiguration(emulator.url));
});

afterAll(async () => {
  await clock.close();
  await emulator.stop();
});

/** A slow function: half a real second, in which the clock must stand. */
const SLOW = `
export const handler = async () => {
  const before = Date.now();
  await new Promise((resolve) => setTimeout(resolve, 500));
  return { before, after: Date.now(), year: new Date().getUTCFullYear(), isDate: new Date() instanceof Date };
};`;

async function execute(states: Readonly<Record<string, object>>, startAt: string) {
  const { stateMachineArn } = await stepFunctions.send(
    new CreateStateMachineCommand({
      name: `machine-${crypto.randomUUID()}`,
      definition: JSON.stringify({ StartAt: startAt, States: states }),
      roleArn: 'arn:aws:iam::000000000000:role/none',
    }),
  );
  const { executionArn } = await stepFunctions.send(new StartExecutionCommand({ stateMachineArn }));
  return {
    describe: () => stepFunctions.send(new DescribeExecutionCommand({ executionArn })),
  };
}

describe('before the clock is started', () => {
  it('the date stands, in functions too', async () => {
    await createFunction(emulator.url, 'slow', SLOW);
    expect(await invoke(emulator.url, 'slow')).toEqual({
      before: START,
      after: START,
      year: 2026,
      isDate: true,
    });
  });

  it('an execution waits', async () => {
    const execution = await execute({ Wait: { Type: 'Wait', Seconds: 1, End: true } }, 'Wait');
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect((await execution.describe()).status).toBe('RUNNING');
  });
});

describe('once it is started', () => {
  it('a day passes at once, but not during work', async () => {
    const release = clock.hold('the test is not ready');
    clock.start();
    const task = { Type: 'Task', Resource: await createFunction(emulator.url, 'works', SLOW) };
    const execution = await execute(
      {
        First: { ...task, ResultPath: '$.first', Next: 'Wait' },
        Wait: { Type: 'Wait', Seconds: 86_400, Next: 'Second' },
        Second: { ...task, ResultPath: '$.second', End: true },
      },
      'First',
    );
    const begun = clock.now();
    release();
    await expect.poll(async () => (await execution.describe()).status, { timeout: 20_000 }).toBe('SUCCEEDED');
    const worked = z.object({ before: z.number(), after: z.number() });
    const output = z
      .object({ first: worked, second: worked })
      .parse(JSON.parse((await execution.describe()).output ?? ''));
    expect(output).toEqual({
      first: { before: begun, after: begun },
      second: { before: begun + DAY_MS, after: begun + DAY_MS },
    });
  });

  it('a five-minute rule fires twelve times an hour', async () => {
    const release = clock.hold('the test is not ready');
    const events = new EventBridgeClient(clientConfiguration(emulator.url));
    const times = join(folder, 'times');
    const arn = await createFunction(
      emulator.url,
      'remembers',
      `import { appendFileSync } from 'node:fs';
       export const handler = async () => appendFileSync(${JSON.stringify(times)}, Date.now() + '\\n');`,
    );
    await events.send(new PutRuleCommand({ Name: 'often', ScheduleExpression: 'rate(5 minutes)' }));
    await events.send(new PutTargetsCommand({ Rule: 'often', Targets: [{ Id: 'one', Arn: arn }] }));
    const begun = clock.now();
    const hour = new Promise<void>((resolve) =>
      clock.at(begun + 3_601_000, () => {
        // Or it goes on while the file is read.
        clock.hold('the hour is over');
        resolve();
      }),
    );
    release();
    await hour;
    const minutes = (await readFile(times, 'utf8'))
      .trim()
      .split('\n')
      .map((at) => (Number(at) - begun) / 60_000);
    expect(minutes).toEqual([5, 10, 15, 20, 25, 30, 35, 40, 45, 50, 55, 60]);
  });
});
