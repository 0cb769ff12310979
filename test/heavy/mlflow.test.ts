/** Hand-overs to MLflow's own server, over each of its stores. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { SageMakerClient } from '@aws-sdk/client-sagemaker';
import { bucketKeys, runIdOf } from '@tidewheel/contract/bucket-keys.ts';
import { apiClient } from '@tidewheel/emulators/region/api-client.ts';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { stringify } from 'yaml';
import { registryContract, shownInMlflow } from '../support/contracts/registries.ts';
import { pythonTools } from '../support/python-tools.ts';
import { finishedRun, startTestRegion } from '../support/region.ts';

let folder: string;
const servers = new Map<string, { readonly url: string; readonly server: ChildProcess }>();

const STORES = { 'a file store': './mlruns', 'a database': 'sqlite:///mlflow.db' };

beforeAll(async () => {
  const tools = await pythonTools({ name: 'mlflow', file: path.join(import.meta.dirname, 'mlflow.txt') });
  folder = await mkdtemp(path.join(tmpdir(), 'mlflow-'));
  for (const [name, store] of Object.entries(STORES)) servers.set(name, await start(tools, store));
}, 600_000);

afterAll(async () => {
  for (const { server } of servers.values()) {
    process.kill(-(server.pid ?? 0));
    await once(server, 'exit');
  }
  await rm(folder, { recursive: true, force: true });
});

async function start(tools: string, store: string) {
  const port = await freePort();
  const words = [
    'server',
    '--backend-store-uri',
    store,
    '--host',
    '127.0.0.1',
    '--port',
    `${port}`,
    '--workers',
    '1',
  ];
  const server = spawn(path.join(tools, 'bin', 'mlflow'), words, {
    cwd: folder,
    // Of its own, so that its workers end with it.
    detached: true,
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], HOME: folder, MLFLOW_ALLOW_FILE_STORE: 'true' },
  });
  const url = `http://127.0.0.1:${port}`;
  while (
    !(await fetch(`${url}/health`).then(
      ({ ok }) => ok,
      () => false,
    ))
  )
    await sleep(200);
  return { url, server };
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const at = probe.address();
  probe.close();
  await once(probe, 'close');
  return typeof at === 'object' && at !== null ? at.port : 0;
}

for (const name of Object.keys(STORES))
  registryContract(
    `MLflow over ${name}`,
    () => {
      const { url } = servers.get(name) ?? { url: '' };
      const sageMaker = new SageMakerClient();
      const show = shownInMlflow(fetch, url);
      return Promise.resolve({ sageMaker, fetch, registries: { mlflow: {} }, server: url, show });
    },
    41,
  );

it('a drop in a region ends as the champion', async () => {
  const test = await startTestRegion('calm');
  try {
    const api = apiClient(test.region);
    const { clients, stack } = test.region;
    const put = (Key: string, Body: string) =>
      clients.s3.send(new PutObjectCommand({ Bucket: stack.bucket, Key, Body }));
    const { url = '' } = servers.get('a database') ?? {};
    const script =
      "import os, pathlib\npathlib.Path(os.environ['SM_MODEL_DIR'], 'weights').write_text('1')\n";
    await put(`${bucketKeys.source('pets')}train.py`, script);
    const declaration = stringify({
      name: 'pets',
      settle: { quietSeconds: 2 },
      packing: { accept: ['.txt'], label: 'none' },
      training: { strategy: 'single', environment: { MLFLOW_TRACKING_URI: url } },
      promote: 'always',
      registries: { mlflow: {} },
      compute: { instanceTypes: ['g5.xlarge'] },
    });
    expect(await api.call('PUT', '/pipelines/pets', declaration)).toMatchObject({ status: 200 });
    await put(`${bucketKeys.incoming('pets')}a.txt`, 'a');
    const runId = runIdOf('pets', 1);
    expect(await finishedRun(api, runId)).toMatchObject({ status: 'succeeded' });
    // hand-over looks every five minutes.
    const shown = () => shownInMlflow(fetch, url)('pets').catch(() => undefined);
    await vi.waitFor(async () => expect(await shown()).toMatchObject({ inUse: [runId] }), {
      timeout: 420_000,
      interval: 1_000,
    });
    expect(await api.call('GET', `/runs/${runId}`)).toMatchObject({
      body: { timeline: expect.arrayContaining([expect.objectContaining({ kind: 'ModelHandedOver' })]) },
    });
  } finally {
    await test.stop();
  }
}, 1_200_000);
