import * as z from 'zod';
import { openImageEngine } from '../../aws/images/image-engine.ts';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { sealRun } from '../../run/attempts/seal-run.ts';
import { withPacking } from '../../wiring/packing-context.ts';
import { clock, notifier, tableStores } from '../../wiring/services.ts';

const input = z.object({ runId: z.string(), pipeline: z.string(), round: z.number().int().min(1) });

export const handler = lambdaHandler('seal-dataset', input, (run) =>
  sealRun({ ...tableStores(), notifier: notifier(), clock, images: openImageEngine, withPacking }, run),
);
