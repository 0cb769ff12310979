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
  /** Of the newest generation; 0 without one. */
  readonly samples: number;
}

/** @param samples of the newest generation */
export function factsOf(reportText: string, samples: number): RunFacts {
  const { modelUri, ...rest } = report.parse(JSON.parse(reportText));
  return { ...rest, hasModel: modelUri !== undefined, samples };
}
