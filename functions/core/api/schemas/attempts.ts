/** What the API says of attempts, and of the progress that their checkpoints prove. */
import * as z from 'zod';
import { diagnosis } from './diagnoses.ts';
import { list, seconds, time } from './operation.ts';
import { launcher, placement } from './placements.ts';

const unit = z.enum(['step', 'epoch', 'saves']);

export const metrics = z
  .record(z.string(), z.number().nullable())
  .readonly()
  .describe('null where the script gave infinity or no number.');

export const progress = z.object({
  step: z.number(),
  totalSteps: z.number().describe('0 where the script does not say.'),
  unit: unit.optional().describe('What the step counts; absent: step.'),
  checkpoint: z.string().describe('Name, below the checkpoints of the run.'),
  checkpointBytes: z.number().optional(),
  trainingSeconds: seconds.optional().describe('Of all attempts, at the time of the checkpoint.'),
  saveSeconds: seconds.optional().describe('How long the last save held up training.'),
  usage: z.object({ cpuPercent: z.number().optional(), gpuPercent: z.number().optional() }).optional(),
  metrics: metrics.optional(),
  proof: z.enum(['whole', 'quiet']).optional().describe('quiet: of a format that the agent does not know.'),
  comparedBy: z.enum(['checksums', 'sizes']).optional(),
  updatedAt: time.describe('When it was saved.'),
});

const resume = z
  .object({
    checkpoint: z
      .object({
        name: z.string(),
        step: z.number(),
        unit: unit.optional(),
        format: z.string().optional(),
      })
      .optional(),
    repairs: list(
      z.object({
        name: z.string(),
        problem: z.string(),
        instead: z.string(),
        step: z.number().optional(),
      }),
    ),
    verdict: z
      .object({
        kind: z.enum(['resumed', 'beganAgain']),
        evidence: z.enum(['log', 'checkpoint']),
        position: z.number(),
        beganAt: z.number(),
      })
      .optional(),
  })
  .describe('How the script went on from what earlier attempts had saved.');

export const outcomeKind = z.enum([
  'completed',
  'interrupted',
  'capacity',
  'timeLimit',
  'serviceError',
  'userError',
  'recalled',
  'stopped',
]);

const startUp = z
  .object({ hosts: seconds, download: seconds, image: seconds })
  .describe('From the launch to the start of the script.');

const outcome = z.object({
  kind: outcomeKind,
  message: z.string(),
  startedAt: time.optional(),
  scriptStartedAt: time.optional(),
  startUp: startUp.optional(),
  endedBeforeScript: z.literal(true).optional(),
  endedAt: time.optional(),
  trainingSeconds: seconds,
  billableSeconds: seconds,
  quota: z.literal(true).optional(),
  fault: z.enum(['silent', 'storage', 'disk', 'packages']).optional(),
  interruptions: z.number().int(),
  modelUri: z.string().optional(),
});

export const jobLog = z
  .object({ group: z.string(), streamPrefix: z.string() })
  .describe('Where its output is in CloudWatch Logs.');

const recall = z.object({
  cause: z.enum(['capacity', 'budget', 'deadline', 'spot', 'time', 'request']),
  why: z.string(),
  at: time,
});

export const attempt = z.object({
  runId: z.string(),
  pipeline: z.string(),
  attempt: z.number().int(),
  jobName: z.string(),
  launcher,
  status: z.enum(['starting', 'waitingForCapacity', 'running', 'done', 'interrupted', 'recalled', 'failed']),
  placement,
  createdAt: time,
  updatedAt: time,
  startedAt: time.optional().describe('When its hosts were there.'),
  startUp: startUp.optional(),
  progressBefore: progress.optional(),
  progressAfter: progress.optional(),
  resume: resume.optional(),
  recall: recall.optional(),
  outcome: outcome.optional(),
  log: jobLog.optional(),
  input: z
    .object({ mode: z.enum(['File', 'FastFile', 'Pipe']), shards: z.number().int(), bytes: z.number() })
    .optional()
    .describe('The shards that it reads, and how they reach its script.'),
  applied: list(z.looseObject({ kind: z.string() }))
    .optional()
    .describe("The doctor's remedies that it started with."),
  diagnosis: diagnosis.optional(),
  restoredAt: time.optional(),
});

/** What every look at a run reads of its attempts. */
export const attemptSummary = attempt
  .pick({ attempt: true, jobName: true, launcher: true, status: true, createdAt: true, updatedAt: true })
  .extend({
    startedAt: attempt.shape.startedAt,
    placement: placement.pick({
      pool: true,
      topology: true,
      decidedAt: true,
      onDemandHourlyUsd: true,
      helpersHourlyUsd: true,
    }),
    progressAfter: progress
      .pick({ step: true, totalSteps: true, unit: true, checkpoint: true, updatedAt: true })
      .optional()
      .describe('The newest checkpoint at its end.'),
    beganAt: z.number().optional().describe('The step at which its script went on.'),
    recall: recall.optional(),
    outcome: outcome
      .pick({
        kind: true,
        message: true,
        startedAt: true,
        scriptStartedAt: true,
        endedAt: true,
        trainingSeconds: true,
        interruptions: true,
      })
      .optional(),
    costUsd: z.number().optional().describe('Absent while it goes on.'),
    diagnosis: diagnosis.optional().describe('Of the newest attempt alone.'),
    log: jobLog.optional(),
  });
