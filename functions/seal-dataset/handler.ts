import * as z from 'zod';
import { openImageEngine } from '../aws/images/image-engine.ts';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { clock, notifier, tableStores } from '../aws/lambda/services.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import { sealRun } from '../core/attempts/seal-run.ts';

const input = z.object({ runId: z.string(), pipeline: z.string(), round: z.number().int().min(1) });

export const handler = lambdaHandler('seal-dataset', input, (run) =>
  sealRun({ ...tableStores(), notifier: notifier(), clock, images: openImageEngine, withPacking }, run),
);
