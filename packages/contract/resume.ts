/**
 * How a script resumed, a file an attempt.
 *
 * In: a schema for `readDocument`. Out: the checkpoint that was there, what replaced damaged ones, and the agent's verdict.
 * Errors: none. `runs/resume.ts` reads it, and the bench of scripts.
 */
import * as z from 'zod';
import { absent, amount, count, type HostDocument, whereKnown } from './document.ts';
import { progressUnit } from './progress.ts';

const text = z.string().max(500);

const MOST_READ = 100;
export const readFile = z.object({ name: text, bytes: count });

export const resumedCheckpoint = z.object({
  name: text,
  step: amount,
  unit: whereKnown(progressUnit),
  /** Who wrote it, in words; empty for Tidewheel's own layout. */
  format: text.optional(),
});

export const checkpointRepair = z.object({
  name: text,
  problem: text,
  instead: text,
  step: absent(amount),
});

export const resumeVerdict = z.object({
  kind: z.enum(['resumed', 'beganAgain']),
  evidence: z.enum(['log', 'checkpoint']),
  /** The first that the script printed or saved. */
  position: z.number().min(-1e100).max(1e100),
  /** In the unit of the checkpoint that was there; 0 is the beginning. */
  beganAt: amount,
  /** The last that the attempt before had printed. */
  stood: amount.optional(),
});

export const resumeNote = {
  name: 'resume',
  version: 1,
  schema: z.object({
    /** Unix seconds: on EC2 an attempt may start several times, and the last start counts. */
    startedAt: whereKnown(amount),
    checkpoint: absent(resumedCheckpoint),
    /** Checkpoints that were damaged, and what replaced them. */
    repairs: z.array(checkpointRepair).max(100),
    /** Absent while nothing shows it. */
    verdict: absent(resumeVerdict),
    /** Files that were there at the start and that the script has read, with their bytes then. */
    read: whereKnown(z.array(readFile).max(MOST_READ)),
    /** Until automatic checkpoints had gone through the saved steps again. */
    replaySeconds: whereKnown(amount),
    /** Why nothing that was there counted as a checkpoint. */
    uncounted: whereKnown(text),
  }),
} satisfies HostDocument;
