/** One thread of the bench: plays the campaigns whose seeds it is handed. */
import { parentPort } from 'node:worker_threads';
import * as z from 'zod';
import { keptCampaign, TROUBLES } from './campaigns.ts';

const asked = z.object({ seed: z.number(), trouble: z.enum(TROUBLES).optional() });
const port = parentPort;
async function answer(message: unknown): Promise<void> {
  const { seed, trouble } = asked.parse(message);
  port?.postMessage(await keptCampaign(seed, trouble));
}
// What it rejects with ends the thread, and with it the bench.
port?.on('message', (message: unknown) => void answer(message));
