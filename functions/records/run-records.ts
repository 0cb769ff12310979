/**
 * Records of runs and attempts. Times are ISO 8601 in UTC, durations are seconds, and money is USD. Each is read from the
 * table by its schema, so a field that a release adds is optional, or has a default for the records of earlier ones.
 */

import { amount } from '@tidewheel/contract/document.ts';
import { checkpointRepair, readFile, resumedCheckpoint, resumeVerdict } from '@tidewheel/contract/resume.ts';
import { LAUNCHERS } from '@tidewheel/declaration/launchers.ts';
import {
  deadlineHoursOf,
  type Hyperparameter,
  type Pipeline,
  pinned,
  pipelineSchema,
  runPartsSchema,
} from '@tidewheel/declaration/pipeline.ts';
import { gitIdentitySchema } from '@tidewheel/declaration/script.ts';
import { changeSchema, readingSchema, speedSchema, verdictSchema } from '@tidewheel/doctor/verdict.ts';
import { list, seconds, time, usd } from '@tidewheel/kit/fields.ts';
import {
  missSchema,
  outcomeSchema,
  placementSchema,
  poolSchema,
  promiseSchema,
  provenSchema,
  startUpSchema,
  stopReasonSchema,
} from '@tidewheel/placement/records.ts';
import * as z from 'zod';
import { archiveSchema, judgedSchema, needSchema } from './models.ts';

/** As the agent saw it. */
const resume = z
  .object({
    /** What was there; absent where the agent knew no checkpoint. */
    checkpoint: resumedCheckpoint.optional(),
    /** Damaged checkpoints, and what took their place. */
    repairs: list(checkpointRepair.extend({ step: amount.optional() })),
    /** Absent while nothing shows it. */
    verdict: resumeVerdict.optional(),
    read: list(readFile).optional(),
    replaySeconds: seconds.optional(),
    uncounted: z.string().optional(),
  })
  .describe('How the script went on from what earlier attempts had saved.');
export type Resume = Readonly<z.output<typeof resume>>;

export const runStatusSchema = z.enum([
  'settling',
  'packing',
  'placing',
  'training',
  'succeeded',
  'failed',
  'stopped',
  'empty',
  'notNeeded',
]);
export type RunStatus = z.output<typeof runStatusSchema>;
export const FINISHED: readonly RunStatus[] = ['succeeded', 'failed', 'stopped', 'empty', 'notNeeded'];

/** now: hosts on EC2 end without a last save. SageMaker has one way to stop, which leaves 120 seconds for a save. */
export const STOP_MODES = ['afterSave', 'now'] as const;
export type StopMode = (typeof STOP_MODES)[number];

/** ARN, or the name in a person's token. */
const requestedBy = z.string().describe('Who asked.');

/** A person's request to end the run. */
export const stopSchema = z.object({
  mode: z.enum(STOP_MODES),
  at: time,
  requestedBy,
  /** At the time of the first request, which is ended for it. */
  execution: z.number().int(),
});
export type StopRequest = Readonly<z.output<typeof stopSchema>>;

/** work: plans, map results and notes of reads; source: the packed source, which several runs may share. */
export const EXPIRING = ['work', 'checkpoints', 'source'] as const;
export type Expiring = (typeof EXPIRING)[number];

/** A person had the ended run go on. */
export const retrySchema = z.object({
  number: z.number().int().describe('1 for the first one.'),
  at: time,
  requestedBy,
  /** They are not judged again, and do not count against `tuning.limits.attempts`. */
  attempts: z.number().int().describe('How many attempts there were before.'),
});
export type Retry = Readonly<z.output<typeof retrySchema>>;

export const runRequestSchema = z
  .object({
    at: time,
    requestedBy,
    /** Clients' own names of the calls that this run answers. */
    tokens: list(z.string()),
    /** Names of those that differ from the declaration, or from `again`. */
    changed: list(z.string()).describe('Fields that hold for this run alone.'),
    again: z.string().optional().describe('The run that it does again.'),
    /** Absent: the source as it is at the launch. */
    source: z.string().optional().describe('SHA-256 of the packed source to train with.'),
    /** Until the close, which pins them on the run; absent where the run trains as declared. */
    parts: pinned(runPartsSchema).optional(),
  })
  .describe('Of a person; absent where data or a schedule started the run.');
export type RunRequest = Readonly<z.output<typeof runRequestSchema>>;

export const rejectedSchema = z
  .object({
    count: z.number().int(),
    byReason: z.record(z.string(), z.number().int()).readonly(),
    examples: list(z.object({ key: z.string(), reason: z.string() })),
  })
  .describe('Arrivals that are in no shard.');

const by = { at: time, requestedBy };

/** What a person says of a run. */
const annotationSchema = z.object({
  ...by,
  note: z.string().optional(),
  tags: list(z.string()).describe('Beside those of its declaration.'),
});

export const spentOnPoolSchema = z.object({
  instanceType: z.string(),
  zoneId: z.string().optional(),
  purchaseOption: poolSchema.shape.purchaseOption,
  attempts: z.number().int(),
  costUsd: usd,
  lostSeconds: seconds,
});

/** What sums of money take of an ended run, beside its result. */
const spentSchema = z.object({
  pools: list(spentOnPoolSchema.extend({ lostUsd: usd })),
  /** Absent without a forecast, and where the run did not succeed. */
  kept: z.object({ end: z.boolean(), cost: z.boolean() }).optional(),
});
export type RunSpent = Readonly<z.output<typeof spentSchema>>;

/** What a list of runs says of an ended one. */
export const resultSchema = z.object({
  /** Absent in records of earlier releases. */
  spent: spentSchema.optional(),
  finishedAt: time,
  attempts: z.number().int(),
  interruptions: z.number().int(),
  lostSeconds: seconds,
  costUsd: usd,
  onDemandUsd: usd,
  isDeadlineMet: z.boolean().nullable(),
  misses: list(missSchema).optional().describe('How far its end and cost were from what was promised.'),
  metric: z
    .object({ name: z.string(), value: z.number().nullable() })
    .optional()
    .describe('The one that leads; training.objective names it.'),
  metrics: z
    .record(z.string(), z.number().nullable())
    .readonly()
    .optional()
    .describe('The last values of those that say most.'),
});

export const readsSchema = z
  .object({
    whole: list(z.string()).describe('Generations that it trains on as they are.'),
    drawn: z.string().optional().describe('What it drew of all others; absent where it drew none.'),
    replay: z.number().describe('The share of earlier samples, 0 to 1.'),
    new: z.int(),
    replayed: z.int(),
    earlier: z.int(),
  })
  .describe('Which samples train, where dataset.read leaves some out; splits that measure are whole.');

export const runRecordSchema = z.object({
  runId: z.string(),
  pipeline: z.string(),
  /** Of a probe, the newest that was closed before it. */
  batch: z.number().int(),
  status: runStatusSchema,
  trigger: z.enum(['arrival', 'schedule', 'api']),
  probe: z
    .object({
      number: z.number().int(),
      evaluates: z
        .object({
          runId: z.string().describe('Whose model it scores.'),
          decides: z.boolean().describe('false: the comparison is only shown.'),
          after: z.string().optional().describe('The run that left it to do; absent where a person asked.'),
          arrivals: z
            .string()
            .optional()
            .describe('It scores all samples of this generation, in place of the split that measures.'),
        })
        .optional()
        .describe('It trains nothing, and runs the evaluation alone.'),
    })
    .optional()
    .describe('A trial of other settings, or an evaluation alone, which takes no batch.'),
  /** 1 for the first execution of the state machine; later executions count up. */
  execution: z.number().int(),
  createdAt: time,
  updatedAt: time,
  /** S3's time of the newest arrival that woke the open batch, to the millisecond. It may lag behind the bucket. */
  newestEventAt: time.optional(),
  /** Until the close of the batch, persons may ask for it. */
  request: runRequestSchema.optional(),
  /** At the close of the batch, with what persons changed for this run. It does not change while the run is open. */
  declaration: pinned(pipelineSchema).optional(),
  closedAt: time.optional().describe('When its batch was closed.'),
  startedFrom: archiveSchema.optional().describe('The model that it begins from, by training.startFrom.'),
  evaluation: z
    .object({
      set: z.string().optional().describe('Digest of the samples; absent where they may change.'),
      current: archiveSchema.optional().describe('The model in use, where it was still to be scored.'),
      candidate: archiveSchema.optional().describe('Of an evaluation alone: its model, likewise.'),
    })
    .optional()
    .describe('What its last attempt scores at its end.'),
  judged: judgedSchema.optional().describe('What an evaluation alone has shown.'),
  need: needSchema.optional(),
  /** Its plan lists only around the keys of notifications, which are noted since this time. */
  notifiedSince: time.optional(),
  sealedAt: time.optional().describe('When its data was packed; absent without new data.'),
  generation: z.string().optional().describe('What it packed.'),
  rejected: rejectedSchema.optional(),
  generations: list(z.string()).optional().describe('What it trains on, oldest first.'),
  reads: readsSchema.optional(),
  /** Of all its attempts. */
  source: z.string().optional().describe('SHA-256 of the packed source.'),
  git: gitIdentitySchema.optional().describe('The commit that its source was sent from.'),
  failure: z.string().optional(),
  stop: stopSchema.optional(),
  /** The last one. */
  retry: retrySchema.optional(),
  modelUri: z.string().optional(),
  promises: list(promiseSchema)
    .optional()
    .describe('What was forecast at its first look, and at each quarter of its work.'),
  /** Absent in records of earlier releases, too. */
  result: resultSchema.optional().describe('Of its report, once it has ended.'),
  /** It counts only while the run stays ended. */
  checkpointDeletion: z
    .object({ at: time, requestedBy: z.string() })
    .optional()
    .describe('Who asked for the deletion of its checkpoints, and when.'),
  annotation: annotationSchema.optional().describe('What a person noted.'),
  acknowledgement: z.object(by).optional().describe('Who knows that it failed; a retry ends it.'),
  /** By the declaration's retention. */
  expired: list(z.enum(EXPIRING)).optional().describe('What was deleted after its end.'),
});
export type RunRecord = Readonly<z.output<typeof runRecordSchema>>;

/** What lists show of a run's declaration. */
const listedSchema = z.object({
  deadlineHours: z.number().optional(),
  owner: z.string().optional(),
  tags: z.record(z.string(), z.string()).readonly().optional(),
  hyperparameters: z
    .record(z.string(), z.string())
    .readonly()
    .optional()
    .describe('Up to 20, shortened, in words.'),
  annotation: annotationSchema.optional(),
  acknowledgement: z.object(by).optional(),
});

/** A run in the list of all runs, which holds neither its declaration nor its data. */
export const listedRunSchema = runRecordSchema
  .omit({
    declaration: true,
    generations: true,
    reads: true,
    rejected: true,
    notifiedSince: true,
    newestEventAt: true,
    sealedAt: true,
  })
  .extend({ listed: listedSchema.optional() });
export type ListedRun = Readonly<z.output<typeof listedRunSchema>>;

export const listedRunOf = (run: RunRecord): ListedRun =>
  listedRunSchema.parse({ ...run, listed: listedOf(run) });

type Listable = Pick<RunRecord, 'declaration' | 'annotation' | 'acknowledgement'>;

/** Undefined before the close of its batch. */
export const listedOf = ({ declaration, ...said }: Listable): ListedRun['listed'] =>
  declaration && {
    deadlineHours: deadlineHoursOf(declaration.limits),
    owner: declaration.owner,
    tags: declaration.tags,
    hyperparameters: shortened(declaration.training.hyperparameters),
    annotation: said.annotation,
    acknowledgement: said.acknowledgement,
  };

/** A list of runs holds them for each one. */
const MOST_PARAMETERS = 20;
const LONGEST_VALUE = 40;

/** A number that keeps its form is written as it was given. */
const writtenValue = (value: Hyperparameter): string =>
  typeof value === 'object' ? value.number : String(value);

const shortened = (given: Pipeline['training']['hyperparameters']): Record<string, string> =>
  Object.fromEntries(
    Object.entries(given)
      .slice(0, MOST_PARAMETERS)
      .map(([name, value]) => [name, writtenValue(value).slice(0, LONGEST_VALUE)]),
  );

export const jobLogSchema = z
  .object({
    group: z.string(),
    /** One stream a host begins so. */
    streamPrefix: z.string(),
  })
  .describe('Where its output is in CloudWatch Logs.');
export type JobLog = Readonly<z.output<typeof jobLogSchema>>;

const attemptInputSchema = z
  .object({ mode: z.enum(['File', 'FastFile', 'Pipe']), shards: z.number().int(), bytes: z.number() })
  .describe('The shards that it reads, and how they reach its script.');

export const scriptStartSchema = z
  .object({
    requirements: seconds.describe('Their installation.'),
    resume: seconds.describe('From the start of the script to its first request for a batch.'),
    firstStep: seconds.describe('From there to the first step, with what the script skips.'),
  })
  .describe('What the agent measures from the start of the container on.');

/** What the doctor says of an attempt, by what the agent has measured so far. */
export const diagnosisSchema = z.object({
  at: time,
  /** Then nothing more is measured. */
  isFinal: z.boolean().optional().describe('Whether the attempt had ended.'),
  speed: speedSchema.optional(),
  reading: readingSchema.optional(),
  start: scriptStartSchema.optional(),
  /** The most worthwhile first. */
  verdicts: list(verdictSchema),
});
export type Diagnosis = z.output<typeof diagnosisSchema>;

export const attemptRecordSchema = z.object({
  runId: z.string(),
  pipeline: z.string(),
  attempt: z.number().int(),
  jobName: z.string(),
  /** The launcher that starts, follows and stops the job. */
  launcher: z.enum(LAUNCHERS),
  /** waitingForCapacity: the job exists and holds no instance; recalled: stopped by Tidewheel after a save, although it had capacity. */
  status: z.enum(['starting', 'waitingForCapacity', 'running', 'done', 'interrupted', 'recalled', 'failed']),
  placement: placementSchema,
  taskToken: z.string().optional(),
  createdAt: time,
  updatedAt: time,
  /** Once a look has seen them. */
  startedAt: time.optional().describe('When its hosts were there.'),
  preparing: z
    .object({ since: time, text: z.string() })
    .optional()
    .describe("What goes on before the script starts, in SageMaker's words; absent once it runs."),
  /** Once its script has started, as the last look saw it. */
  startUp: startUpSchema.optional(),
  progressBefore: provenSchema.optional(),
  progressAfter: provenSchema.optional(),
  /** Absent in the run's first attempt. */
  resume: resume.optional(),
  /** A stop by Tidewheel, so that the run continues in another pool. Set before it stops the job. */
  recall: stopReasonSchema.extend({ at: time }).optional(),
  outcome: outcomeSchema.optional(),
  log: jobLogSchema.optional(),
  input: attemptInputSchema.optional(),
  applied: list(changeSchema).optional().describe("The doctor's remedies that it started with."),
  /** Nothing is decided by one that another release wrote, so it counts as none. */
  diagnosis: diagnosisSchema.optional().catch(undefined),
  /** When the record was lost and written again from its copy. The copy knows no recall. */
  restoredAt: time.optional(),
});
export type AttemptRecord = Readonly<z.output<typeof attemptRecordSchema>>;

/** One line of a run's timeline. A second write of the same id changes nothing. */
export const timelineEntrySchema = z.object({
  id: z.string(),
  at: time,
  kind: z.string().describe('Such as AttemptInterrupted; docs/events.md lists those that are events, too.'),
  text: z.string(),
});
export type TimelineEntry = Readonly<z.output<typeof timelineEntrySchema>>;
