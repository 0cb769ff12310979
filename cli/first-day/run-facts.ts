/** What a step reads of a run's report. */
import * as z from 'zod';

const attempt = z.object({
  attempt: z.number(),
  outcome: z.string(),
  message: z.string(),
  fromStep: z.number(),
  toStep: z.number(),
  trainingSeconds: z.number(),
  costUsd: z.number(),
});

const report = z.object({
  status: z.string(),
  failure: z.string().optional(),
  modelUri: z.string().optional(),
  attempts: z.array(attempt),
  interruptions: z.number(),
  lostSeconds: z.number(),
  costUsd: z.number(),
  generations: z.array(z.string()),
  startedAt: z.string(),
  finishedAt: z.string(),
});

export interface RunFacts extends Omit<z.infer<typeof report>, 'modelUri'> {
  readonly hasModel: boolean;
  /** Of all generations that it trained on. */
  readonly samples: number;
}

/** @param samplesOf of these generations together */
export async function factsOf(
  reportText: string,
  samplesOf: (generations: readonly string[]) => Promise<number>,
): Promise<RunFacts> {
  const { modelUri, ...rest } = report.parse(JSON.parse(reportText));
  return { ...rest, hasModel: modelUri !== undefined, samples: await samplesOf(rest.generations) };
}
