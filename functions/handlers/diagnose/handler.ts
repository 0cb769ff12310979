import * as z from 'zod';
import {
  countPartialFailures,
  lambdaHandler,
  logger,
  publishDiagnoses,
  withinLimit,
} from '../../aws/lambda/lambda-handler.ts';
import { diagnoseAttempts } from '../../run/attempts/doctor/diagnose-attempts.ts';
import { clock, notifier, store, tableStores } from '../../wiring/services.ts';

/** Of one attempt, which usually takes a second. */
const LIMIT_SECONDS = 20;

/** Without a run: every open attempt. */
const input = z.object({ runId: z.string().optional() });

export const handler = lambdaHandler('diagnose', input, async ({ runId }, context) => {
  const deps = {
    ...tableStores(),
    store: store(),
    notifier: notifier(),
    clock,
    withinLimit: (work: Promise<unknown>) => withinLimit(work, LIMIT_SECONDS),
  };
  const { diagnosed, failures } = await diagnoseAttempts(deps, runId);
  if (failures.length > 0) logger.error('could not diagnose everything', { failures });
  publishDiagnoses(diagnosed);
  countPartialFailures(context, failures.length);
  return { diagnosed: diagnosed.length, failures };
});
