/** Step 2 of the first day with a few of its files, so that it takes seconds. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { vi } from 'vitest';
import * as z from 'zod';
import { findDeployment } from '../../cli/command/deployment.ts';
import { withBucket } from '../../cli/dataset/open.ts';
import { openDeployment } from '../../cli/deployment/open-deployment.ts';
import { removePipeline } from '../../cli/first-day/play-run.ts';
import { playStep, stepPipeline } from '../../cli/first-day/play-step.ts';
import type { StepResult } from '../../cli/first-day/results.ts';
import { STEPS } from '../../cli/first-day/steps.ts';
import { PROJECT_FOLDER } from '../support/region.ts';

/** What a test reads of report.json. */
export const FIRST_DAY_REPORT = z.object({
  results: z.array(z.object({ number: z.number(), outcome: z.string() })),
});

/** @param environment region, endpoint and credentials */
export async function playShort(environment: Readonly<Record<string, string>>): Promise<StepResult> {
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  try {
    const where = { folder: PROJECT_FOLDER, environment, clone: undefined };
    const deployment = await openDeployment(await findDeployment(where, { stage: 'dev' }));
    const script = await readFile(join(PROJECT_FOLDER, 'cli/first-day/train.py'));
    const step = STEPS.find(({ number }) => number === 2);
    if (step?.kind !== 'run') throw new Error('step 2 is no run');
    const short = { ...step, plan: { ...step.plan, files: 20, trainingSeconds: 5 } };
    return await withBucket(deployment.bucket, async (store) => {
      const ground = {
        store,
        script,
        signal: new AbortController().signal,
        now: () => new Date(),
        sleep: (milliseconds: number) => sleep(milliseconds),
        say: () => undefined,
      };
      const around = { hosts: undefined, isLocal: true, testObjectId: randomUUID, explain: String };
      const result = await playStep(short, { deployment, ground, ...around });
      await removePipeline(store, stepPipeline(step));
      return result;
    });
  } finally {
    vi.unstubAllEnvs();
  }
}
