/** One thread of the simulator: rates share after share of the windows, as they are handed to it. */
import { parentPort, workerData } from 'node:worker_threads';
import * as z from 'zod';
import { chosenPolicies } from './policies.ts';
import { rateWindow } from './rate.ts';
import { windowSchema } from './windows.ts';

const { folder, policies } = z
  .object({ folder: z.string(), policies: z.array(z.string()) })
  .parse(workerData);
const strategies = chosenPolicies(policies);
const port = parentPort;
port?.on('message', (message: unknown) => {
  const share = z.array(windowSchema).parse(message);
  port.postMessage(share.flatMap((window) => rateWindow(folder, window, strategies)));
});
