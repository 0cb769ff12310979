/** Starts the server and the tools, each on its own core, and reads what they took. */
import { execFile, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import tar from 'tar-stream';
import * as z from 'zod';
import type { StoredChecksum } from '../../test/support/memory-s3/checksum-headers.ts';
import type { Tool } from './competitors.ts';
import type { BenchSet } from './sets.ts';

const run = promisify(execFile);
const HERE = import.meta.dirname;

/** By getrusage of the tool and all that it started: other programs' work is not in it. */
const measuredSchema = z.object({
  code: z.number(),
  seconds: z.number(),
  cpuSeconds: z.number(),
  peakBytes: z.number(),
  errors: z.string(),
});
export type Measured = z.infer<typeof measuredSchema>;

const seenSchema = z.object({
  requests: z.record(z.string(), z.number()),
  stored: z.array(z.tuple([z.string(), z.number()])),
});
export type Seen = z.infer<typeof seenSchema>;

const addressSchema = z.object({ url: z.string(), control: z.string() });

/** Server on one core, client on the other, where there are two. */
const pinned = (core: number, command: readonly string[]): string[] =>
  os.availableParallelism() > 1 ? ['taskset', '-c', String(core), ...command] : [...command];

export class BenchServer {
  readonly url: string;
  readonly #control: string;
  readonly #stop: () => void;

  private constructor(address: z.infer<typeof addressSchema>, stop: () => void) {
    this.url = address.url;
    this.#control = address.control;
    this.#stop = stop;
  }

  static async start(set: string, files: number, checksum: StoredChecksum): Promise<BenchServer> {
    const [program = '', ...rest] = pinned(0, [
      process.execPath,
      path.join(HERE, 'serve.ts'),
      set,
      String(files),
      checksum,
    ]);
    const child = spawn(program, rest, { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = await once(createInterface(child.stdout), 'line');
    return new BenchServer(addressSchema.parse(JSON.parse(String(line))), () => child.kill());
  }

  stop(): void {
    this.#stop();
  }

  async keepShards(): Promise<void> {
    await fetch(this.#control, { method: 'PUT' });
  }

  async empty(): Promise<void> {
    await fetch(this.#control, { method: 'DELETE' });
  }

  async seen(): Promise<Seen> {
    return seenSchema.parse(await (await fetch(this.#control)).json());
  }

  /** Name of every member to the digest of its bytes, over all shards of an output, and how many archives there were. */
  async contentsOf(prefix: string): Promise<Map<string, string>> {
    const contents = new Map<string, string>();
    const { stored } = await this.seen();
    for (const [key] of stored.filter(([name]) => name.startsWith(prefix))) {
      const body = await (await fetch(`${this.url}/bench/${key}`)).arrayBuffer();
      const extract = tar.extract();
      Readable.from([Buffer.from(body)]).pipe(extract);
      for await (const entry of extract) {
        const digest = createHash('sha256');
        for await (const chunk of entry) if (Buffer.isBuffer(chunk)) digest.update(chunk);
        contents.set(entry.header.name, digest.digest('hex'));
      }
    }
    return contents;
  }
}

/** Runs the tool once on an emptied server. */
export async function measure(server: BenchServer, tool: Tool, set: BenchSet): Promise<Measured> {
  await server.empty();
  const environment = {
    ...process.env,
    ENDPOINT: server.url,
    AWS_ENDPOINT_URL_S3: server.url,
    AWS_ACCESS_KEY_ID: 'bench',
    AWS_SECRET_ACCESS_KEY: 'bench',
    AWS_REGION: 'us-east-1',
    /** Spares the peers the checksums that their newest versions add. Ours are checked all the same. */
    AWS_REQUEST_CHECKSUM_CALCULATION: 'when_required',
    AWS_RESPONSE_CHECKSUM_VALIDATION: 'when_required',
    FILES_PER_SHARD: String(set.filesPerShard),
    BATCHED: set.isLarge ? '1' : '',
    ...tool.environment,
  };
  const command = [path.join(HERE, 'peers/measure.py'), ...pinned(1, tool.command)];
  const { stdout } = await run('python3', command, { env: environment, maxBuffer: 64e6 });
  const measured = measuredSchema.parse(JSON.parse(stdout));
  if (measured.code !== 0) throw new Error(`${tool.name} failed: ${measured.errors}`);
  return measured;
}
