/** The details of the events that the service sends, which docs/events.md describes for others. */
import * as z from 'zod';
import { judgedSchema, needSchema } from './models.ts';

const attempt = { attempt: z.number().int().min(1), jobName: z.string() };
const decision = { number: z.number().int(), by: z.string(), reason: z.string() };
const range = z.object({ low: z.number(), expected: z.number(), high: z.number() });

/** A later version of an event may have more fields. */
export const NOTICES = {
  DatasetSealed: z.object({
    generation: z.string(),
    samples: z.number(),
    shards: z.number(),
    rejected: z.number(),
  }),
  AttemptStarted: z.object({
    ...attempt,
    instanceType: z.string(),
    zoneId: z.string().optional(),
    purchaseOption: z.string(),
    log: z.object({ group: z.string(), streamPrefix: z.string() }).optional(),
  }),
  AttemptInterrupted: z.object({ ...attempt, reason: z.string(), step: z.number().optional() }),
  CheckpointStalled: z.object({
    ...attempt,
    step: z.number().describe('The last step that is safe.'),
    ageSeconds: z.number(),
    expectedSeconds: z.number(),
  }),
  ScriptHangs: z.object({
    ...attempt,
    host: z.string(),
    since: z.string().describe('ISO 8601: when the script last computed or printed, or made its last step.'),
    kind: z.enum(['idle', 'noSteps']).optional(),
    ranks: z.array(z.string()).readonly().optional().describe('Where each rank stands.'),
  }),
  DoctorVerdict: z.object({
    ...attempt,
    cause: z.string().describe('Of docs/doctor.md.'),
    evidence: z.record(z.string(), z.number()),
    remedy: z.string().optional(),
    gainSeconds: range.describe('Over the whole job.'),
    gainUsd: range,
    unknown: z.array(z.string()).readonly(),
  }),
  ModelEvaluated: z.object({
    ...decision,
    decision: z.enum(['promoted', 'rejected', 'waits']),
    judged: judgedSchema.optional().describe('By its scores; absent without them.'),
  }),
  HandOverDelayed: z.object({
    registry: z.string(),
    reason: z.string(),
    tries: z.number().int().optional(),
  }),
  ModelPromoted: z.object({
    ...decision,
    from: z.string().optional().describe('The run whose model was in use before.'),
  }),
  ModelRejected: z.object(decision),
  ModelRolledBack: z.object({
    ...decision,
    from: z.string().describe('The run whose model was in use, and is rejected.'),
  }),
  RunFinished: z.object({ modelUri: z.string().optional(), costUsd: z.number(), onDemandUsd: z.number() }),
  RunFailed: z.object({ reason: z.string() }),
  RunStopped: z.object({ requestedBy: z.string(), costUsd: z.number() }),
  TrainingNotNeeded: needSchema.shape.scores.unwrap().partial().extend({
    reason: z.string(),
    since: needSchema.shape.since,
  }),
  BudgetNearlySpent: z.object({ costUsd: z.number(), budgetUsd: z.number() }),
  DeadlineInDanger: z.object({
    deadlineAt: z.string().describe('ISO 8601.'),
    expectedAt: z.string().describe('ISO 8601.'),
  }),
  DeadlineSafe: z.object({
    deadlineAt: z.string().describe('ISO 8601.'),
    expectedAt: z.string().describe('ISO 8601.'),
  }),
};

type Details = typeof NOTICES;

export type Notice = {
  readonly [Type in keyof Details]: { readonly type: Type } & Readonly<z.input<Details[Type]>>;
}[keyof Details];
