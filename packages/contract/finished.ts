/**
 * The model of an attempt whose script has ended, and how it was evaluated: a copy of the model lies beside the note, so a host
 * that is lost in the evaluation costs the evaluation alone.
 *
 * In: a schema for `readDocument`. Out: what proves the copy, and what became of each evaluation. Errors: none. The service reads
 * it where an attempt ends.
 */
import * as z from 'zod';
import { amount, count, type HostDocument, whereKnown } from './document.ts';

const evaluationSchema = z.object({
  /** The model of the attempt, or the one in use, on the same samples. */
  of: z.enum(['candidate', 'current']),
  /** ended: with exit code 0; failed: by itself; stopped: the host had to leave, or a signal ended it. */
  result: z.enum(['ended', 'failed', 'timedOut', 'stopped']),
  seconds: amount,
  message: whereKnown(z.string().max(1_024)),
  /** Lines of its scores; 0 where it only printed. */
  samples: count,
  /** The last value of each metric that it printed. */
  printed: whereKnown(z.record(z.string(), z.number())),
});

export const finishedNote = {
  name: 'finished',
  version: 1,
  schema: z
    .object({
      /** Describe the copy. */
      bytes: count,
      digest: z.string().regex(/^[0-9a-f]{64}$/),
      evaluations: z.array(evaluationSchema).max(2),
    })
    .transform(({ evaluations, ...copy }) => ({
      ...copy,
      candidate: evaluations.find(({ of }) => of === 'candidate'),
      current: evaluations.find(({ of }) => of === 'current'),
    })),
} satisfies HostDocument;

export type FinishedNote = z.output<typeof finishedNote.schema>;
