import * as z from 'zod';
import { lambdaHandler } from '../aws/lambda/lambda-handler.ts';
import { clock, notifier, tableStores } from '../aws/lambda/services.ts';
import { withPacking } from '../aws/s3/packing-context.ts';
import { announceCompaction } from '../core/attempts/announce-compaction.ts';
import { announceSeal } from '../core/attempts/announce-seal.ts';
import { sealCompaction } from '../core/packing/compaction/seal-compaction.ts';
import { sealDataset } from '../core/packing/seal/seal-dataset.ts';

/** `compacted`: the generation to seal is one that was joined of others; `troubled`: why there is none. */
const input = z.object({
  runId: z.string(),
  pipeline: z.string(),
  compacted: z.string().optional(),
  troubled: z.object({ Error: z.string().default(''), Cause: z.string().default('') }).optional(),
});

export const handler = lambdaHandler(
  'seal-dataset',
  input,
  async ({ runId, pipeline, compacted, troubled }) => {
    const deps = { ...tableStores(), notifier: notifier(), clock };
    const run = { runId, pipeline };
    if (troubled !== undefined) return announceCompaction(deps, run, { status: 'failed', ...troubled });
    if (compacted !== undefined) {
      const joined = await withPacking(runId, ({ store, packing }) =>
        sealCompaction(store, { pipeline, packing, generation: compacted }),
      );
      return announceCompaction(deps, run, joined);
    }
    const sealed = await withPacking(runId, ({ store, packing }) =>
      sealDataset({ store }, { runId, pipeline, packing }),
    );
    return announceSeal(deps, run, sealed);
  },
);
