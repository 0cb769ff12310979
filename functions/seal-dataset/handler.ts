import * as z from 'zod';
import { openImageEngine } from '../aws/images/image-engine.ts';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { clock, notifier, tableStores } from '../aws/lambda/services.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import { announceSeal } from '../core/attempts/announce-seal.ts';
import { sealOrRepeat } from '../core/attempts/packing-rounds.ts';
import { reportQuality } from '../core/attempts/reports/report-quality.ts';
import { mayCompact } from '../core/packing/compaction/plan-compaction.ts';
import { sealDataset } from '../core/packing/seal/seal-dataset.ts';
import { spotCheck } from '../core/packing/verify/spot-check.ts';

const input = z.object({ runId: z.string(), pipeline: z.string(), round: z.number().int().min(1) });

export const handler = lambdaHandler('seal-dataset', input, async ({ runId, pipeline, round }) => {
  const deps = { ...tableStores(), notifier: notifier(), clock };
  const sealed = await sealOrRepeat(deps, { runId, pipeline, round }, () =>
    withPacking(runId, async ({ store, packing, dataset }) => {
      const result = await sealDataset({ store, spotCheck }, { runId, pipeline, packing });
      return { ...result, mayCompact: mayCompact(dataset, result) };
    }),
  );
  if (sealed.status === 'incomplete') return sealed;
  const announced = await announceSeal(deps, { runId, pipeline }, sealed);
  await withPacking(runId, ({ store, packing: { hold } }) =>
    reportQuality(deps, { store, images: openImageEngine }, { runId, pipeline, generation: runId, hold }),
  );
  return announced;
});
