import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createInterface } from 'node:readline';
import {
  CreateTrainingJobCommand,
  DescribeTrainingJobCommand,
  SageMakerClient,
} from '@aws-sdk/client-sagemaker';
import { beforeAll, expect, test } from 'vitest';
import { clientConfiguration, projectPython, TEST_KEY } from '../../../../test/support/emulator.ts';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';
import { folderOfSuite } from '../../../../test/support/folders.ts';
import { type Ground, isRunning, jobRequest, layGround } from '../../../../test/support/local-sagemaker.ts';

const emulator = emulatorOfSuite();
let ground: Ground;
const stateDirectory = folderOfSuite('restart');

beforeAll(async () => {
  ground = await layGround(emulator.url);
  return () => ground.close();
});

/** Tells the process ids of itself and of a child in a session of its own. */
const LINGERING = `
import os, pathlib, time
base = pathlib.Path(os.environ['SAGEMAKER_BASE_DIR'])
child = os.fork()
if child == 0:
    os.setsid()
    time.sleep(600)
(base / 'checkpoints').mkdir(exist_ok=True)
(base / 'checkpoints/pids').write_text(f'{os.getpid()} {child}')
time.sleep(600)
`;

async function startAlone(): Promise<{ server: ChildProcess; url: string }> {
  const cli = path.join(import.meta.dirname, '../../../sagemaker/cli.ts');
  const keyFile = path.join(stateDirectory, 'key-of-the-emulator.json');
  await writeFile(keyFile, JSON.stringify(TEST_KEY));
  const flags = [
    '--endpoint',
    emulator.url,
    '--access-key',
    keyFile,
    '--python',
    projectPython(),
    '--state',
    stateDirectory,
  ];
  const server = spawn(process.execPath, [cli, ...flags], { stdio: ['ignore', 'pipe', 'inherit'] });
  for await (const line of createInterface({ input: server.stdout })) {
    const url = /http:\/\/\S+/.exec(line)?.[0];
    if (url) return { server, url };
  }
  throw new Error('the server ended before it answered');
}

async function untilTrue(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const end = Date.now() + 20_000;
  while (!(await holds())) {
    if (Date.now() > end) throw new Error(`${what} never became true`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

async function startLingering(url: string, name: string): Promise<number[]> {
  await ground.put(`code/${name}/main.py`, LINGERING);
  const client = new SageMakerClient({ ...clientConfiguration(emulator.url), endpoint: url });
  const request = jobRequest(ground.bucket, name, {
    CheckpointConfig: { S3Uri: `s3://${ground.bucket}/pids/${name}` },
  });
  await client.send(new CreateTrainingJobCommand(request));
  await untilTrue('the checkpoint', async () => (await ground.keys(`pids/${name}/`)).length > 0);
  return (await ground.get(`pids/${name}/pids`)).toString().split(' ').map(Number);
}

test('kill -9 leaves no process, and failed jobs', async () => {
  const first = await startAlone();
  const pids = await startLingering(first.url, 'killed-job');
  expect(pids.filter(isRunning)).toEqual(pids);
  await untilTrue('the note that the server is alive', async () => {
    const noted = await readFile(path.join(stateDirectory, 'alive'), 'utf8').catch(() => '');
    return noted !== '' && pids.every(isRunning);
  });
  first.server.kill('SIGKILL');
  await untilTrue('the end of all processes', () => !pids.some(isRunning));
  const second = await startAlone();
  const client = new SageMakerClient({ ...clientConfiguration(emulator.url), endpoint: second.url });
  const job = await client.send(new DescribeTrainingJobCommand({ TrainingJobName: 'killed-job' }));
  expect(job).toMatchObject({ TrainingJobStatus: 'Failed', SecondaryStatus: 'Failed' });
  expect(job.FailureReason).toMatch(
    /^InternalServerError: We encountered an internal error\. Please try again\./,
  );
  const [started = 0, ended = 0] = [job.TrainingStartTime?.getTime(), job.TrainingEndTime?.getTime()];
  expect(ended).toBeGreaterThan(started);
  expect(job.TrainingTimeInSeconds).toBe(Math.max(1, Math.ceil((ended - started) / 1_000)));
  expect(job.BillableTimeInSeconds).toBe(job.TrainingTimeInSeconds);
  second.server.kill('SIGTERM');
  await once(second.server, 'exit');
});

test('SIGTERM ends the hosts before the server', async () => {
  const { server, url } = await startAlone();
  const pids = await startLingering(url, 'closed-job');
  server.kill('SIGTERM');
  await once(server, 'exit');
  expect(server.exitCode).toBe(0);
  expect(pids.filter(isRunning)).toEqual([]);
});

test('a second server on the same state is refused', async () => {
  const { server } = await startAlone();
  await expect(layGround(emulator.url, { stateDirectory })).rejects.toThrow(
    'is in use by another local SageMaker',
  );
  server.kill('SIGKILL');
  await once(server, 'exit');
  const after = await layGround(emulator.url, { stateDirectory });
  await after.close();
});
