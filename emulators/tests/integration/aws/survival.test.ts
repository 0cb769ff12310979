/** The state after a kill of the emulator, or of the process that started it. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { chmod, lstat, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { CreateTableCommand, DynamoDBClient, GetItemCommand, PutItemCommand } from '@aws-sdk/client-dynamodb';
import { CreateBucketCommand, GetObjectCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3';
import {
  CreateStateMachineCommand,
  DescribeExecutionCommand,
  SFNClient,
  StartExecutionCommand,
} from '@aws-sdk/client-sfn';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { clientConfiguration, projectPython, TEST_KEY } from '../../../../test/support/emulator.ts';
import { folderOfTest } from '../../../../test/support/folders.ts';
import { type Emulator, startEmulator } from '../../../aws/ministack.ts';
import { createFunction, invoke } from './lambda.ts';

const TELLS_ITS_PROCESS =
  'export const handler = async () => { setInterval(() => {}, 1000); return { pid: process.pid }; };';

let stateDirectory: string;
let running: Emulator | undefined;

beforeEach(() => {
  stateDirectory = folderOfTest('survival');
});

afterEach(async () => {
  await running?.stop();
  running = undefined;
});

const COMMON = { pythonPath: projectPython(), credentials: TEST_KEY };

async function start(): Promise<Emulator> {
  running = await startEmulator({ ...COMMON, stateDirectory, saveSeconds: 0.5 });
  return running;
}

async function kill(emulator: Emulator): Promise<void> {
  process.kill(emulator.pid, 'SIGKILL');
  await emulator.exited;
}

describe('after kill -9', () => {
  it('older writes are there again', async () => {
    const first = await start();
    await putEverywhere(first.url, 'kept');
    await createFunction(first.url, 'kept', 'export const handler = async () => ({ answer: 42 });');
    await sleep(2_500);
    await kill(first);

    const second = await start();
    expect(await readEverywhere(second.url)).toEqual({ item: 'kept', object: 'kept' });
    expect(await invoke(second.url, 'kept')).toEqual({ answer: 42 });
  });

  it('an unfinished snapshot leaves a readable state', async () => {
    let emulator = await start();
    await putEverywhere(emulator.url, '0');
    await sleep(1_500);
    for (let round = 1; round <= 4; round += 1) {
      await write(emulator.url, String(round));
      // Falls at another moment of the interval each time.
      await sleep(400 + 75 * round);
      await kill(emulator);
      emulator = await start();
      const { item } = await readEverywhere(emulator.url);
      expect(Number(item)).toBeGreaterThanOrEqual(round - 1);
    }
  });

  it('an execution that was running is FAILED with States.ServiceRestart', async () => {
    const first = await start();
    const executionArn = await startWaiting(first.url);
    await sleep(2_000);
    await kill(first);

    const second = await start();
    const sfn = new SFNClient(clientConfiguration(second.url));
    expect(await sfn.send(new DescribeExecutionCommand({ executionArn }))).toMatchObject({
      status: 'FAILED',
      error: 'States.ServiceRestart',
    });
  });

  it('no Lambda worker or folder stays', async () => {
    const first = await start();
    await createFunction(first.url, 'tells', TELLS_ITS_PROCESS);
    const { pid } = await invoke(first.url, 'tells');
    const left = (await readFile(path.join(stateDirectory, 'temporary'), 'utf8')).trim();
    await kill(first);
    expect(await isGone(Number(pid))).toBe(true);
    expect(existsSync(left)).toBe(true);

    await start();
    expect(existsSync(left)).toBe(false);
  });
});

describe('after an orderly stop', () => {
  it('the last write is there, and nothing stays', async () => {
    const first = await start();
    await createFunction(first.url, 'tells', TELLS_ITS_PROCESS);
    const { pid } = await invoke(first.url, 'tells');
    const left = (await readFile(path.join(stateDirectory, 'temporary'), 'utf8')).trim();
    await putEverywhere(first.url, 'last');
    await first.stop();
    expect(await isGone(Number(pid))).toBe(true);
    expect(existsSync(left)).toBe(false);

    const second = await start();
    expect(await readEverywhere(second.url)).toEqual({ item: 'last', object: 'last' });
  });

  it('one snapshot lies in the folder', async () => {
    const first = await start();
    await putEverywhere(first.url, 'x');
    await sleep(1_500);
    await first.stop();
    expect(await readdir(path.join(stateDirectory, 'snapshots'))).toHaveLength(2);
  });
});

it('the emulator ends, saved, when its parent is killed', async () => {
  const parent = await startParent(stateDirectory);
  await putEverywhere(parent.url, 'orphaned');
  parent.process.kill('SIGKILL');
  expect(await isGone(parent.pid)).toBe(true);

  const next = await start();
  expect(await readEverywhere(next.url)).toEqual({ item: 'orphaned', object: 'orphaned' });
});

it('a second emulator on one folder is refused', async () => {
  await start();
  const second = spawn(
    projectPython(),
    [path.resolve('emulators/aws/emulator.py'), '--state', stateDirectory, '--lock-seconds', '0.3'],
    { stdio: ['ignore', 'ignore', 'pipe'] },
  );
  let said = '';
  second.stderr.on('data', (chunk: Buffer) => {
    said += chunk.toString();
  });
  const [code] = (await once(second, 'close')) as [number];
  expect({ code, said }).toEqual({ code: 3, said: expect.stringContaining('another emulator uses') });
});

it('the previous port can be requested', async () => {
  const first = await start();
  await first.stop();
  running = await startEmulator({ ...COMMON, stateDirectory, port: first.port });
  expect(running.url).toBe(first.url);
});

async function putEverywhere(url: string, text: string): Promise<void> {
  await new DynamoDBClient(clientConfiguration(url)).send(
    new CreateTableCommand({
      TableName: 'survivors',
      BillingMode: 'PAY_PER_REQUEST',
      AttributeDefinitions: [{ AttributeName: 'id', AttributeType: 'S' }],
      KeySchema: [{ AttributeName: 'id', KeyType: 'HASH' }],
    }),
  );
  await new S3Client(clientConfiguration(url)).send(new CreateBucketCommand({ Bucket: 'survivors' }));
  await write(url, text);
}

async function write(url: string, text: string): Promise<void> {
  const item = { id: { S: 'one' }, text: { S: text } };
  await new DynamoDBClient(clientConfiguration(url)).send(
    new PutItemCommand({ TableName: 'survivors', Item: item }),
  );
  await new S3Client(clientConfiguration(url)).send(
    new PutObjectCommand({ Bucket: 'survivors', Key: 'one', Body: text }),
  );
}

async function readEverywhere(
  url: string,
): Promise<{ item: string | undefined; object: string | undefined }> {
  const found = await new DynamoDBClient(clientConfiguration(url)).send(
    new GetItemCommand({ TableName: 'survivors', Key: { id: { S: 'one' } } }),
  );
  const object = await new S3Client(clientConfiguration(url)).send(
    new GetObjectCommand({ Bucket: 'survivors', Key: 'one' }),
  );
  return { item: found.Item?.['text']?.S, object: await object.Body?.transformToString() };
}

async function startWaiting(url: string): Promise<string | undefined> {
  const sfn = new SFNClient(clientConfiguration(url));
  const definition = { StartAt: 'Rest', States: { Rest: { Type: 'Wait', Seconds: 600, End: true } } };
  const { stateMachineArn } = await sfn.send(
    new CreateStateMachineCommand({
      name: 'waits',
      roleArn: 'arn:aws:iam::000000000000:role/none',
      definition: JSON.stringify(definition),
    }),
  );
  return (await sfn.send(new StartExecutionCommand({ stateMachineArn, input: '{}' }))).executionArn;
}

/** A process of its own that starts an emulator and then does nothing. */
async function startParent(folder: string): Promise<{ process: ChildProcess; url: string; pid: number }> {
  const script = `
    import { startEmulator } from ${JSON.stringify(path.resolve('emulators/aws/ministack.ts'))};
    const { url, pid } = await startEmulator({ pythonPath: ${JSON.stringify(projectPython())},
      credentials: ${JSON.stringify(TEST_KEY)}, stateDirectory: ${JSON.stringify(folder)}, saveSeconds: 0 });
    console.log(JSON.stringify({ url, pid }));
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [line] = (await once(parent.stdout, 'data')) as [Buffer];
  return { process: parent, ...(JSON.parse(line.toString()) as { url: string; pid: number }) };
}

/** Whether the process ends within ten seconds. A zombie has ended: its parent was killed and init may be slow. */
async function isGone(pid: number): Promise<boolean> {
  for (let tries = 0; tries < 200; tries += 1) {
    if (!(await runs(pid))) return true;
    await sleep(50);
  }
  return false;
}

async function runs(pid: number): Promise<boolean> {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => '');
  return !/\) Z /.test(stat);
}

it('state of an earlier release is closed to others', async () => {
  const snapshots = path.join(stateDirectory, 'snapshots');
  const left = path.join(snapshots, '00000000000000000001');
  await mkdir(left, { recursive: true });
  await writeFile(path.join(left, 'secretsmanager.json'), '{}');
  await symlink('00000000000000000001', path.join(snapshots, 'current'));
  for (const open of [stateDirectory, snapshots, left]) await chmod(open, 0o755);
  const { url } = await start();
  await putEverywhere(url, 'secret');
  await running?.stop();
  const all = await readdir(stateDirectory, { recursive: true });
  expect(all.filter((name) => name.endsWith('.json')).length).toBeGreaterThan(5);
  const modes = await Promise.all(
    all.map(async (name) => (await lstat(path.join(stateDirectory, name))).mode),
  );
  const open = all.filter(
    (_, index) => (modes[index] ?? 0) >> 12 !== 0o12 && ((modes[index] ?? 0) & 0o077) !== 0,
  );
  expect(open).toEqual([]);
  expect((await stat(stateDirectory)).mode & 0o077).toBe(0);
});
