import * as z from 'zod';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { archiveWorkSchema, unpackArchives } from '../../run/ingest/archives.ts';
import { withBlobs } from '../../wiring/packing-context.ts';
import { clock, tableStores } from '../../wiring/services.ts';

const input = z.object({ runId: z.string(), pipeline: z.string(), work: archiveWorkSchema });

export const handler = lambdaHandler('unpack-archives', input, ({ work, ...run }) =>
  withBlobs(async (store) => ({
    unpacked: await unpackArchives({ ...tableStores(), store, clock }, run, work),
  })),
);
