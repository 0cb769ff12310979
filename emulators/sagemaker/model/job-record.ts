/** What is kept of a training job, and how its status moves. Pure; times are epoch milliseconds. */
import type { CreateTrainingJobRequest, SecondaryStatus, TrainingJobStatus } from '@aws-sdk/client-sagemaker';
import { isTable } from '@tidewheel/kit/tables.ts';
import * as z from 'zod';

const isText = (value: unknown): boolean => typeof value === 'string';
const ownStatus = z.custom<TrainingJobStatus>(isText);
const secondary = z.custom<SecondaryStatus>(isText);

const transitionSchema = z.object({
  status: secondary,
  startedAt: z.number(),
  endedAt: z.number().optional(),
  message: z.string().optional(),
});

const metricSchema = z.object({ name: z.string(), value: z.number(), at: z.number() });
export type FinalMetric = Readonly<z.output<typeof metricSchema>>;

export const jobRecordSchema = z.object({
  name: z.string(),
  arn: z.string(),
  /** As it was sent, without Tags. */
  request: z.custom<CreateTrainingJobRequest>(isTable),
  tags: z.record(z.string(), z.string()).readonly(),
  createdAt: z.number(),
  modifiedAt: z.number(),
  status: ownStatus,
  secondaryStatus: secondary,
  transitions: z.array(transitionSchema.readonly()).readonly(),
  failureReason: z.string().optional(),
  trainingStartedAt: z.number().optional(),
  trainingEndedAt: z.number().optional(),
  /** Seconds with capacity held, over all restarts; the phase under way is not in it. */
  trainingSeconds: z.number(),
  /** The same in On-Demand seconds: Spot seconds count as their share of the On-Demand price. */
  billableSeconds: z.number(),
  /** Set while capacity is held. */
  phase: z.object({ startedAt: z.number(), billingRate: z.number() }).readonly().optional(),
  modelUri: z.string().optional(),
  metrics: z.array(metricSchema.readonly()).readonly(),
});
export type JobRecord = Readonly<z.output<typeof jobRecordSchema>>;

export interface StatusChange {
  readonly status: TrainingJobStatus;
  readonly secondaryStatus: SecondaryStatus;
  readonly message?: string | undefined;
}

const ENDED: readonly TrainingJobStatus[] = ['Completed', 'Failed', 'Stopped'];

export const hasEnded = (record: Pick<JobRecord, 'status'>): boolean => ENDED.includes(record.status);

/** Moves to another status: closes the open transition and opens the next; only a new message keeps the transition. */
export function withStatus(record: JobRecord, change: StatusChange, now: number): JobRecord {
  const last = record.transitions.at(-1);
  const isSame = last?.status === change.secondaryStatus && record.status === change.status;
  const transitions = isSame
    ? [...record.transitions.slice(0, -1), { ...last, message: change.message ?? last.message }]
    : [
        ...record.transitions.slice(0, -1),
        ...(last ? [{ ...last, endedAt: now }] : []),
        {
          status: change.secondaryStatus,
          startedAt: now,
          ...(ENDED.includes(change.status) ? { endedAt: now } : {}),
          message: change.message,
        },
      ];
  return {
    ...record,
    status: change.status,
    secondaryStatus: change.secondaryStatus,
    transitions,
    modifiedAt: now,
  };
}

/** Capacity is held from now on. billingRate: what a second costs as a share of an On-Demand second. */
export const withPhaseStarted = (record: JobRecord, billingRate: number, now: number): JobRecord => ({
  ...record,
  trainingStartedAt: record.trainingStartedAt ?? now,
  phase: { startedAt: now, billingRate },
});

/** Capacity was given back; its seconds are added up. */
export function withPhaseEnded(record: JobRecord, now: number): JobRecord {
  if (!record.phase) return record;
  const { trainingSeconds, billableSeconds } = secondsUntil(record, now);
  return { ...record, phase: undefined, trainingSeconds, billableSeconds };
}

/** Training and billable seconds up to now, the phase under way included. */
export function secondsUntil(
  record: JobRecord,
  now: number,
): { readonly trainingSeconds: number; readonly billableSeconds: number } {
  const { trainingSeconds, billableSeconds, phase } = record;
  if (!phase) return { trainingSeconds, billableSeconds };
  const seconds = Math.max(0, now - phase.startedAt) / 1000;
  return {
    trainingSeconds: trainingSeconds + seconds,
    billableSeconds: billableSeconds + seconds * phase.billingRate,
  };
}

/**
 * The instance groups of a request; a homogeneous job has one, with the name that SageMaker gives it. Of preferences the
 * selected one counts, before a selection the first.
 */
export function groupsOf(
  request: CreateTrainingJobRequest,
): readonly { readonly name: string; readonly instanceType: string; readonly count: number }[] {
  const config = request.ResourceConfig;
  if (!config) return [];
  if (config.InstanceGroups?.length) {
    return config.InstanceGroups.map(
      ({ InstanceGroupName: name = '', InstanceType: type = '', InstanceCount: count = 0 }) => ({
        name,
        instanceType: type,
        count,
      }),
    );
  }
  const { SelectedInstanceType, SelectedInstanceCount, InstanceCount = 0 } = config;
  const [first] = config.InstancePreferences ?? [config];
  const instanceType = SelectedInstanceType ?? first?.InstanceType ?? '';
  const count = SelectedInstanceCount ?? first?.InstanceCount ?? InstanceCount;
  return [{ name: 'homogeneousCluster', instanceType, count }];
}

/** The request with each of its preferences selected, in their order; as it is where it names one type. */
export const withEachSelected = (request: CreateTrainingJobRequest): readonly CreateTrainingJobRequest[] =>
  request.ResourceConfig?.InstancePreferences?.map(({ InstanceType, InstanceCount }) => ({
    ...request,
    ResourceConfig: {
      ...request.ResourceConfig,
      SelectedInstanceType: InstanceType,
      SelectedInstanceCount: InstanceCount ?? request.ResourceConfig?.InstanceCount,
    },
  })) ?? [request];

export const purchaseOptionOf = (request: CreateTrainingJobRequest): 'spot' | 'on-demand' =>
  request.EnableManagedSpotTraining ? 'spot' : 'on-demand';

/** EC2's name of a SageMaker instance type. */
export const ec2Name = (instanceType: string): string => instanceType.replace(/^ml\./, '');
