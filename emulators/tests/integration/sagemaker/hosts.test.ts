import { createServer } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { beforeAll, expect, test } from 'vitest';
import { startTestEmulator } from '../../../../test/support/emulator.ts';
import { emulatorOfSuite } from '../../../../test/support/emulator-of-suite.ts';
import { type Ground, isRunning, layGround } from '../../../../test/support/local-sagemaker.ts';

const emulator = emulatorOfSuite();
let ground: Ground;

beforeAll(async () => {
  ground = await layGround(emulator.url);
  return () => ground.close();
});

test('two hosts reach each other by their addresses', async () => {
  const name = await ground.create({
    script: `
import json, os, pathlib, socket, time
base = pathlib.Path(os.environ['SAGEMAKER_BASE_DIR'])
config = json.loads((base / 'input/config/resourceconfig.json').read_text())
me, port = config['current_host'], int(os.environ['TIDEWHEEL_MASTER_PORT'])
if me == config['hosts'][0]:
    with socket.create_server((me, port)) as server:
        connection, peer = server.accept()
        (base / 'model/heard').write_text(connection.recv(100).decode() + ' from ' + peer[0])
else:
    for _ in range(100):
        try:
            with socket.create_connection((config['hosts'][0], port), source_address=(me, 0)) as connection:
                connection.sendall(b'hello')
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
`,
    OutputDataConfig: { S3OutputPath: `s3://${ground.bucket}/models`, CompressionType: 'NONE' },
    ResourceConfig: { InstanceType: 'ml.c5.xlarge', InstanceCount: 2, VolumeSizeInGB: 1 },
  });
  expect(await ground.ended(name)).toMatchObject({
    TrainingJobStatus: 'Completed',
    ModelArtifacts: { S3ModelArtifacts: `s3://${ground.bucket}/models/${name}/output/model/` },
  });
  expect((await ground.get(`models/${name}/output/model/heard`)).toString()).toMatch(
    /^hello from 127\.\d+\.\d+\.3$/,
  );
});

test('a failing host fails the job with its reason', async () => {
  const name = await ground.create({
    script: `
import json, os, pathlib, sys, time
base = pathlib.Path(os.environ['SAGEMAKER_BASE_DIR'])
config = json.loads((base / 'input/config/resourceconfig.json').read_text())
if config['current_host'] == config['hosts'][1]:
    (base / 'output/failure').write_text('the loss became NaN ' + 'x' * 2000)
    (base / 'output/data/trace').write_text('deep')
    sys.exit(42)
time.sleep(600)
`,
    ResourceConfig: { InstanceType: 'ml.c5.xlarge', InstanceCount: 2, VolumeSizeInGB: 1 },
  });
  const job = await ground.ended(name);
  expect(job).toMatchObject({ TrainingJobStatus: 'Failed', SecondaryStatus: 'Failed' });
  expect(job.FailureReason).toMatch(/^AlgorithmError: the loss became NaN x+, exit code: 42$/);
  expect(job.FailureReason).toHaveLength(1024);
  const output = gunzipSync(await ground.get(`models/${name}/output/output.tar.gz`)).toString('latin1');
  expect(output).toContain('deep');
});

test('a missing program fails the job, with remedy', async () => {
  const name = await ground.create({
    script: 'pass',
    AlgorithmSpecification: {
      TrainingImage: 'image',
      TrainingInputMode: 'File',
      ContainerEntrypoint: ['no-such-program'],
    },
  });
  const job = await ground.ended(name);
  expect(job.FailureReason).toBe(
    'AlgorithmError: the program could not be started: no-such-program: No such file or directory. Name one that is there in ContainerEntrypoint, exit code: 127',
  );
});

test('orphans outside the process group die too', async () => {
  const seen = Promise.withResolvers<number>();
  const ears = createServer((request, response) => {
    seen.resolve(Number(request.url?.slice(1)));
    response.end();
  });
  await new Promise<void>((resolve) => ears.listen(0, '127.0.0.1', resolve));
  const address = ears.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  const name = await ground.create({
    script: `
import os, sys, time, urllib.request
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        urllib.request.urlopen(f'http://127.0.0.1:${String(port)}/{os.getpid()}')
        time.sleep(600)
    os._exit(0)
os.wait()
time.sleep(0.5)
`,
  });
  const orphan = await seen.promise;
  expect((await ground.ended(name)).TrainingJobStatus).toBe('Completed');
  expect(isRunning(orphan)).toBe(false);
  ears.close();
});

test('simultaneous jobs have separate addresses and ports', async () => {
  const names = await Promise.all(
    [1, 2, 3, 4].map(() =>
      ground.create({
        script: `
import json, os, pathlib, socket, time
base = pathlib.Path(os.environ['SAGEMAKER_BASE_DIR'])
config = json.loads((base / 'input/config/resourceconfig.json').read_text())
first, port = config['hosts'][0], int(os.environ['TIDEWHEEL_MASTER_PORT'])
if config['current_host'] == first:
    servers = [socket.create_server(('', port + extra)) for extra in range(10)]
    connection, _ = servers[0].accept()
    time.sleep(1)
    (base / 'model/received').write_text(connection.recv(100).decode())
else:
    while True:
        try:
            socket.create_connection((first, port)).sendall(os.environ['TRAINING_JOB_NAME'].encode())
            break
        except ConnectionRefusedError:
            time.sleep(0.05)
`,
        OutputDataConfig: { S3OutputPath: `s3://${ground.bucket}/models`, CompressionType: 'NONE' },
        ResourceConfig: { InstanceType: 'ml.c5.xlarge', InstanceCount: 2, VolumeSizeInGB: 1 },
      }),
    ),
  );
  for (const name of names) {
    expect((await ground.ended(name)).FailureReason).toBeUndefined();
    expect((await ground.get(`models/${name}/output/model/received`)).toString()).toBe(name);
  }
});

test('a killed host fails the job with its signal', async () => {
  const name = await ground.create({
    script: `
import os, signal
os.kill(os.getpid(), signal.SIGKILL)
`,
  });
  expect((await ground.ended(name)).FailureReason).toBe('AlgorithmError: , exit code: 137');
});

test('an absent emulator is the service’s fault', async () => {
  const stops = await startTestEmulator();
  const away = await layGround(stops.url);
  try {
    away.market.isOpen = false;
    const name = await away.create({
      script: 'pass',
      ResourceConfig: { InstanceType: 'ml.g5.xlarge', InstanceCount: 1 },
    });
    await away.until(name, ({ SecondaryStatus }) => SecondaryStatus === 'Pending');
    await stops.stop();
    away.market.open();
    expect((await away.ended(name)).FailureReason).toMatch(/^InternalServerError: /);
  } finally {
    await away.close();
  }
});

test('a killed supervisor takes its program along', async () => {
  const name = await ground.create({
    script: `
import os, pathlib, time
folder = pathlib.Path(os.environ['SAGEMAKER_BASE_DIR']) / 'checkpoints'
(folder / 'pids').write_text(f'{os.getppid()} {os.getpid()}')
time.sleep(600)
`,
    CheckpointConfig: { S3Uri: `s3://${ground.bucket}/pids` },
  });
  await ground.market.nextSync();
  const [supervisor, program] = (await ground.get('pids/pids')).toString().split(' ').map(Number);
  process.kill(supervisor ?? 0, 'SIGKILL');
  const job = await ground.ended(name);
  expect(job.FailureReason).toBe(
    'InternalServerError: We encountered an internal error. Please try again. (algo-1 was lost)',
  );
  expect(isRunning(program ?? 0)).toBe(false);
});
