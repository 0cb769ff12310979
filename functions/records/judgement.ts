/** How the model of a run was compared with the one in use: `judgement.json`, which the run's end writes. */
import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { list } from '@tidewheel/kit/fields.ts';
import { parseJson } from '@tidewheel/kit/json.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { kindOf, storedOrThrow } from '@tidewheel/kit/stored.ts';
import * as z from 'zod';
import { judgedSchema } from './models.ts';
import type { RunRecord } from './run-records.ts';

const sides = z
  .object({ gained: z.number().int(), lost: z.number().int() })
  .optional()
  .describe('Samples that it alone is right on, and the other alone; of scores of 0 and 1.');
const current = z.number().describe('Of the model in use.');
const interval = list(z.number()).describe('Of `better`, at 95 %.');
const better = z.number().describe('Than the model in use; below 0: worse.');
const compared = z.object({ current, better, interval }).partial();
const part = compared.extend({ samples: z.number().int(), mean: z.number(), sides });
const sample = { candidate: z.number(), current, label: z.string().optional() };

export const judgementSchema = z.object({
  version: z.literal(1),
  runId: z.string(),
  metric: z.string(),
  mode: judgedSchema.shape.mode,
  against: z.string().optional().describe('The run whose model was in use.'),
  verdict: judgedSchema.shape.verdict,
  reasons: list(z.string()),
  mean: z.number().optional().describe('On all its samples.'),
  samplesNeeded: judgedSchema.shape.samplesNeeded,
  difference: z
    .object({ pairs: z.number().int(), candidate: z.number(), current, better, interval })
    .optional()
    .describe('On the samples that both were scored on.'),
  sides,
  earlier: part.optional().describe('On samples that the model in use knew when it was new.'),
  fresh: part.optional().describe('On samples that came since.'),
  byLabel: list(z.object({ ...sample, label: z.string(), samples: z.number().int() })).optional(),
  worst: list(z.object({ ...sample, key: z.string() }))
    .optional()
    .describe('Samples on which it lost most.'),
});

/**
 * @returns undefined where none was written
 * @throws UnreadableRecordError
 */
export async function readJudgement(
  store: Pick<ObjectStore, 'readText'>,
  { pipeline, runId }: Pick<RunRecord, 'pipeline' | 'runId'>,
): Promise<Readonly<z.output<typeof judgementSchema>> | undefined> {
  const stored = await store.readText(bucketKeys.judgement(pipeline, runId));
  return (
    stored && storedOrThrow(`the judgement of ${runId}`, kindOf(judgementSchema), parseJson(stored.text))
  );
}
