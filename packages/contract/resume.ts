/**
 * How a script resumed, a file an attempt.
 *
 * In: a schema for `readDocument`. Out: the checkpoint that was there, what replaced damaged ones, and the agent's verdict.
 * Errors: none. `runs/resume.ts` reads it, and the bench of scripts.
 */
import * as z from 'zod';
import { absent, amount, type HostDocument, whereKnown } from './document.ts';

const text = z.string().max(500);

export const resumeNote = {
  name: 'resume',
  version: 1,
  schema: z.object({
    /** Unix seconds: on EC2 an attempt may start several times, and the last start counts. */
    startedAt: whereKnown(amount),
    checkpoint: absent(
      z.object({
        name: text,
        step: amount,
        unit: whereKnown(z.enum(['step', 'epoch', 'saves'])),
        /** Who wrote it, in words; empty for Tidewheel's own layout. */
        format: text.optional(),
      }),
    ),
    /** Checkpoints that were damaged, and what replaced them. */
    repairs: z.array(z.object({ name: text, problem: text, instead: text, step: absent(amount) })).max(100),
    /** Absent while nothing shows it. */
    verdict: absent(
      z.object({
        kind: z.enum(['resumed', 'beganAgain']),
        evidence: z.enum(['log', 'checkpoint']),
        /** The first that the script printed or saved. */
        position: z.number().min(-1e100).max(1e100),
        /** In the unit of the checkpoint that was there; 0 is the beginning. */
        beganAt: amount,
      }),
    ),
  }),
} satisfies HostDocument;
