/** An EC2 host as a local process: the program that user data starts, with a metadata service of its own. */
import { type ChildProcess, spawn } from 'node:child_process';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import net from 'node:net';
import path from 'node:path';
import { AGENT_FILE, layout, s3Uri } from '../../../functions/core/layout.ts';
import { projectPython } from '../emulator.ts';

export interface HostOptions {
  readonly url: string;
  /** A folder of its own for each host. */
  readonly folder: string;
  readonly bucket: string;
  readonly instanceId: string;
  readonly pipeline: string;
  readonly runId: string;
  readonly attempt: number;
  /** Key prefix of the agent. */
  readonly agentPrefix: string;
  /** Each host of a gang its own of 127.0.0.0/8. */
  readonly address?: string;
  /** The same for all hosts of a gang. */
  readonly ports?: Ports;
}

export interface Ports {
  readonly master: number;
  readonly gang: number;
}

export const freePorts = async (): Promise<Ports> => ({ master: await freePort(), gang: await freePort() });

export interface Host {
  /** EC2's notice, as the metadata service gives it. */
  takeBack(): void;
  /** The machine is gone: nothing on it gets to say a word. */
  lose(): Promise<void>;
  /** Resolves with the exit code. */
  readonly ended: Promise<number | null>;
  /** What the host has written so far. */
  log(): string;
  stop(): void;
}

/** Does what the user data does: fetches the agent and hands over to it. */
export async function startHost(options: HostOptions): Promise<Host> {
  const { folder, bucket, url } = options;
  const base = path.join(folder, 'ml');
  const agent = path.join(base, 'input/data/agent', AGENT_FILE);
  await mkdir(path.dirname(agent), { recursive: true });
  const aws = path.join(folder, 'aws');
  await writeFile(
    aws,
    `#!/bin/sh\nexec '${projectPython()}' '${path.join(import.meta.dirname, 'aws.py')}' "$@"\n`,
  );
  await chmod(aws, 0o755);
  const metadata = await startMetadata(options.instanceId, options.address ?? '127.0.0.1');
  const attempt = layout.attempt(options.pipeline, options.runId, options.attempt);
  const { master, gang } = options.ports ?? (await freePorts());
  const environment = {
    ...process.env,
    AWS_ENDPOINT_URL: url,
    AWS_ACCESS_KEY_ID: 'test',
    AWS_SECRET_ACCESS_KEY: 'test',
    AWS_DEFAULT_REGION: 'us-east-1',
    SAGEMAKER_BASE_DIR: base,
    TIDEWHEEL_AWS_PROGRAM: aws,
    TIDEWHEEL_METADATA_URL: metadata.url,
    TIDEWHEEL_JOB_URI: s3Uri(bucket, `${attempt}job.json`),
    TIDEWHEEL_HOSTS_URI: s3Uri(bucket, `${attempt}hosts/`),
    TIDEWHEEL_LOOK_SECONDS: '1',
    TIDEWHEEL_SYNC_SECONDS: '2',
    TIDEWHEEL_MASTER_PORT: String(master),
    TIDEWHEEL_GANG_PORT: String(gang),
    PYTHONDONTWRITEBYTECODE: '1',
  };
  const fetched = follow(
    spawn(aws, ['s3', 'cp', s3Uri(bucket, options.agentPrefix + AGENT_FILE), agent], { env: environment }),
  );
  if ((await fetched.ended) !== 0) throw new Error(`the agent was not fetched: ${fetched.log()}`);
  const child = spawn(projectPython(), [agent, '--host'], { env: environment });
  const host = follow(child);
  return {
    takeBack: () => metadata.answers.set('spot/instance-action', '{"action": "terminate"}'),
    lose: () => killBelow(base),
    ended: host.ended.finally(() => metadata.server.close()),
    log: host.log,
    stop: () => child.kill('SIGKILL'),
  };
}

/** Everything whose environment names the host's folder, as long as there is something. */
async function killBelow(base: string): Promise<void> {
  const needle = `\0SAGEMAKER_BASE_DIR=${base}\0`;
  for (let round = 0; round < 5; round += 1) {
    for (const pid of await readdir('/proc')) {
      const environment = /^\d+$/.test(pid)
        ? await readFile(`/proc/${pid}/environ`, 'latin1').catch(() => '')
        : '';
      if (!`\0${environment}\0`.includes(needle)) continue;
      try {
        process.kill(Number(pid), 'SIGKILL');
      } catch {
        // It has just ended.
      }
    }
  }
}

function follow(child: ChildProcess): Pick<Host, 'ended' | 'log'> {
  let log = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream?.on('data', (chunk: Buffer) => {
      log += chunk.toString();
    });
  }
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  });
  return { ended, log: () => log };
}

/** Version 2: nothing without a token. */
async function startMetadata(instanceId: string, address: string) {
  const answers = new Map([
    ['instance-id', instanceId],
    ['local-ipv4', address],
  ]);
  const server = http.createServer((request, response) => {
    if (request.method === 'PUT') {
      response.end('token');
      return;
    }
    const found = answers.get((request.url ?? '').replace('/latest/meta-data/', ''));
    const known = request.headers['x-aws-ec2-metadata-token'] === 'token';
    response.statusCode = known ? (found === undefined ? 404 : 200) : 401;
    response.end(known ? found : undefined);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { server, answers, url: `http://127.0.0.1:${port}` };
}

async function freePort(): Promise<number> {
  const server = net.createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

export const trainingScript = (): Promise<string> =>
  readFile(path.join(import.meta.dirname, 'train.py'), 'utf8');
