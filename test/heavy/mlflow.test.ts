/** Hand-overs to MLflow's own server, over each of its stores. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SageMakerClient } from '@aws-sdk/client-sagemaker';
import { afterAll, beforeAll } from 'vitest';
import { registryContract, shownInMlflow } from '../support/contracts/registries.ts';
import { pythonTools } from '../support/python-tools.ts';

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
