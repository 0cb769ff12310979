import * as z from 'zod';
import { lambdaHandler } from '../../aws/lambda/lambda-handler.ts';
import { dataPath } from '../../aws/s3/open-store.ts';
import { archiveWorkSchema, unpackArchives } from '../../run/ingest/archives.ts';
import { clock, tableStores } from '../../wiring/services.ts';

const input = z.object({ runId: z.string(), pipeline: z.string(), work: archiveWorkSchema });

export const handler = lambdaHandler('unpack-archives', input, async ({ work, ...run }) => {
  const { store } = await dataPath();
  return { unpacked: await unpackArchives({ ...tableStores(), store, clock }, run, work) };
});
