/** Calls of a region's control server, for commands that only know its state folder. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { signedFetch } from '@tidewheel/kit/signed-headers.ts';
import * as z from 'zod';
import { ACCESS_KEY_FILE, accessKeyIn } from '../access/access-key.ts';
import { REGION } from './clients.ts';
import { CONTROL_FILE } from './control-server.ts';
import type { RunningJob, Strike } from './interruptions.ts';

const controlSchema = z.object({ url: z.url() });
const jobSchema = z.object({
  run: z.string(),
  job: z.string(),
  launcher: z.enum(['sagemaker', 'ec2']),
  hosts: z.int(),
  isSpot: z.boolean(),
});
const refusalSchema = z.object({ message: z.string() });

export interface ControlClient {
  running(): Promise<readonly RunningJob[]>;
  /** @throws Error with the region's reason */
  strike(strike: Strike): Promise<RunningJob>;
}

/** @throws Error when no region is up in the folder, or its control.json is damaged */
export async function controlClient(stateDirectory: string): Promise<ControlClient> {
  const down = `no region is up in ${stateDirectory}: start one with \`npm start\`, or name its folder with --state`;
  const text = await readFile(join(stateDirectory, CONTROL_FILE), 'utf8').catch((cause: unknown) => {
    throw new Error(down, { cause });
  });
  const url = urlIn(join(stateDirectory, CONTROL_FILE), text);
  const credentials = await accessKeyIn(join(stateDirectory, ACCESS_KEY_FILE));
  const signing = { service: 'tidewheel', region: REGION, credentials };
  const call = async (method: 'GET' | 'POST', path: string, body?: string): Promise<unknown> => {
    const sent = signedFetch(new URL(`${url}${path}`), { method, body }, signing);
    // The file of a region that was killed names a port where nothing answers.
    const reply = await sent.catch((cause: unknown) => {
      throw new Error(down, { cause });
    });
    const answer: unknown = await reply.json();
    if (reply.status !== 200) throw new Error(refusalSchema.parse(answer).message);
    return answer;
  };
  return {
    running: async () => z.array(jobSchema).parse(await call('GET', '/jobs')),
    strike: async (strike) => jobSchema.parse(await call('POST', '/interruptions', JSON.stringify(strike))),
  };
}

function urlIn(file: string, text: string): string {
  try {
    return controlSchema.parse(JSON.parse(text)).url;
  } catch (cause: unknown) {
    throw new Error(`${file} is damaged: end that region's \`npm start\`, and start it again`, { cause });
  }
}
