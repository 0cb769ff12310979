/** One thread of the simulator: rates its share of the windows. */
import { parentPort, workerData } from 'node:worker_threads';
import * as z from 'zod';
import { chosenPolicies } from './policies.ts';
import { rateWindow } from './rate.ts';
import { windowSchema } from './windows.ts';

const task = z
  .object({ folder: z.string(), policies: z.array(z.string()), windows: z.array(windowSchema) })
  .parse(workerData);
const strategies = chosenPolicies(task.policies);
parentPort?.postMessage(task.windows.flatMap((window) => rateWindow(task.folder, window, strategies)));
