/** `npm start` as a person runs it, started again whenever it has ended. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { ACCESS_KEY_FILE, type AccessKey, accessKeyIn } from '@tidewheel/emulators/access/access-key.ts';
import { type ApiClient, apiClient } from '@tidewheel/emulators/region/api-client.ts';
import {
  type DeployedStack,
  environmentFor,
  findStack,
  type LocalClients,
  localClients,
} from '@tidewheel/emulators/region/clients.ts';
import * as z from 'zod';

export const PROJECT_FOLDER = join(import.meta.dirname, '../..');
const UP_SECONDS = 600;
const portsSchema = z.object({ aws: z.number(), sageMaker: z.number(), ec2: z.number() });

export interface Up {
  readonly clients: LocalClients;
  readonly credentials: AccessKey;
  readonly stack: DeployedStack;
  readonly api: ApiClient;
  /** What a shell needs to reach it. */
  readonly environment: Readonly<Record<string, string>>;
}

export class Started {
  #child: ChildProcess | undefined;
  #output = '';
  #starts = 0;
  readonly #state: string;

  constructor(state: string) {
    this.#state = state;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get starts(): number {
    return this.#starts;
  }

  get hasEnded(): boolean {
    return this.#child === undefined || this.#child.exitCode !== null || this.#child.signalCode !== null;
  }

  /** Starts it unless it runs, and waits until it is ready. */
  async up(): Promise<Up> {
    const until = Date.now() + UP_SECONDS * 1_000;
    if (this.hasEnded) this.#start();
    while (!this.#output.includes('ready for a drop')) {
      if (Date.now() > until) throw new Error(`not up after ${UP_SECONDS} s:\n${this.#output}`);
      // The region of a start that was killed ends in its own time, and has the folder until then: the caller asks again.
      if (this.hasEnded) throw new Error(`a start ended before it was up:\n${this.#output}`);
      await sleep(100);
    }
    const ports = portsSchema.parse(JSON.parse(await readFile(join(this.#state, 'ports.json'), 'utf8')));
    const at = (port: number) => `http://127.0.0.1:${port}`;
    const endpoints = { aws: at(ports.aws), sageMaker: at(ports.sageMaker), ec2: at(ports.ec2) };
    const credentials = await accessKeyIn(join(this.#state, ACCESS_KEY_FILE));
    const clients = localClients(endpoints, credentials);
    const stack = await findStack(clients.cloudFormation);
    if (stack === undefined) throw new Error('the region is up without its stack');
    const environment = environmentFor(endpoints, credentials);
    return { clients, credentials, stack, environment, api: apiClient({ credentials, stack }) };
  }

  #start(): void {
    this.#starts += 1;
    this.#output = '';
    const bootstrap = join(PROJECT_FOLDER, 'cli/bootstrap.mjs');
    const options = ['start', '--no-demo', '--market', 'calm', '--state', this.#state];
    const child = spawn(process.execPath, [bootstrap, ...options], { stdio: ['ignore', 'pipe', 'pipe'] });
    const take = (chunk: Buffer) => {
      this.#output += chunk.toString();
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    this.#child = child;
  }

  async stop(): Promise<void> {
    if (this.#child === undefined || this.hasEnded) return;
    const closed = once(this.#child, 'close');
    this.#child.kill('SIGTERM');
    await closed;
  }
}
