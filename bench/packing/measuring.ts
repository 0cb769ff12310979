/** Starts the server and our packing, each on its own core, and reads what they took. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import os from 'node:os';
import path from 'node:path';
import { createInterface } from 'node:readline';
import * as z from 'zod';
import type { StoredChecksum } from '../../test/support/memory-s3/checksum-headers.ts';
import { type Measured, measureProcess } from '../measured-process.ts';

const HERE = import.meta.dirname;

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

  async empty(): Promise<void> {
    await fetch(this.#control, { method: 'DELETE' });
  }

  async seen(): Promise<Seen> {
    return seenSchema.parse(await (await fetch(this.#control)).json());
  }
}

/** As serverless.yml gives it to the functions that pack. */
const LAMBDA = { NODE_OPTIONS: '--enable-source-maps --max-semi-space-size=16' };

/** Packs all files of the server once, after it was emptied. */
export async function pack(server: BenchServer, program: string): Promise<Measured> {
  await server.empty();
  const measured = await measureProcess(pinned(1, [process.execPath, program]), {
    ...process.env,
    AWS_ENDPOINT_URL_S3: server.url,
    AWS_REGION: 'us-east-1',
    ...LAMBDA,
  });
  if (measured.exitCode !== 0) throw new Error(`packing failed: ${measured.errors}`);
  return measured;
}
