/** The API's operations: a checked body in, the answer's body out. */
import type { CreateTrainingJobRequest } from '@aws-sdk/client-sagemaker';
import type { LocalClock } from '../../clock/clock.ts';
import { zoneOf } from '../../spot-market/model/offers.ts';
import type { Reservations } from '../../spot-market/model/reservations.ts';
import { MAXIMUM_HOSTS } from '../hosts/container.ts';
import { describeJob, summariseJob } from '../jobs/describe.ts';
import type { JobRegistry } from '../jobs/registry.ts';
import type { LocalTrainingJob } from '../jobs/training-job.ts';
import { groupsOf, hasEnded, withEachSelected } from '../model/job-record.ts';
import { jobNotFound, RequestRefused, validationException } from '../model/refusals.ts';
import { type ListInput, listJobs } from './list-jobs.ts';
import { brokenRules } from './rules.ts';
import trimmedModel from './service-model.json' with { type: 'json' };
import { JSON_BODY, requestViolations, type ServiceModel, violationMessage } from './service-model.ts';

export type OperationAnswer = Readonly<Record<string, unknown>>;

export interface OperationContext {
  readonly registry: JobRegistry;
  readonly clock: LocalClock;
  /** Absent: the account has no training plans. */
  readonly reservations?: Reservations | undefined;
}

/**
 * Of botocore's model the requests that this server takes. The whole model is 370 KB in a Python environment that this
 * server may not have, and takes 75 ms to read; this part takes less than one. A contract test compares them.
 */
const MODEL: ServiceModel = trimmedModel;

type Operation = (body: unknown, context: OperationContext) => Promise<OperationAnswer>;

/** The body has been checked against the model before `run` sees it: that is what makes its type known. */
// oxlint-disable-next-line typescript/no-unnecessary-type-parameters
const operation =
  <Input>(
    run: (body: Input, context: OperationContext) => OperationAnswer | Promise<OperationAnswer>,
  ): Operation =>
  async (body, context) =>
    run(body as Input, context);

interface Named {
  readonly TrainingJobName: string;
}

const OPERATIONS: ReadonlyMap<string, Operation> = new Map([
  ['CreateTrainingJob', operation(createTrainingJob)],
  ['DescribeTrainingJob', operation(describeTrainingJob)],
  ['StopTrainingJob', operation(stopTrainingJob)],
  ['ListTrainingJobs', operation(listTrainingJobs)],
  ['DescribeTrainingPlan', operation(describeTrainingPlan)],
  ['SearchTrainingPlanOfferings', operation(searchTrainingPlanOfferings)],
]);

/** Throws a RequestRefused for every request that SageMaker would refuse. */
export async function runOperation(
  name: string,
  body: unknown,
  context: OperationContext,
): Promise<OperationAnswer> {
  const found = OPERATIONS.get(name);
  if (!found) {
    throw new RequestRefused(
      'UnknownOperationException',
      `The local SageMaker has no operation ${JSON.stringify(name.slice(0, 100))}; it has ${[...OPERATIONS.keys()].join(', ')}`,
    );
  }
  const problem = violationMessage(requestViolations(MODEL, name, body, JSON_BODY));
  if (problem !== undefined) throw validationException(problem);
  return found(withoutNulls(body), context);
}

/** In this protocol a null member is an absent one. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, member]) => member !== null)
      .map(([name, member]) => [name, withoutNulls(member)]),
  );
}

async function createTrainingJob(
  request: CreateTrainingJobRequest,
  context: OperationContext,
): Promise<OperationAnswer> {
  const problems = brokenRules(request);
  const hosts = Math.max(
    ...withEachSelected(request).map((each) => groupsOf(each).reduce((sum, group) => sum + group.count, 0)),
  );
  if (hosts > MAXIMUM_HOSTS)
    problems.push(`The local SageMaker runs ${MAXIMUM_HOSTS} hosts a job at most, not ${hosts}`);
  if (problems.length > 0) throw validationException(problems.join('; '));
  const record = await context.registry.create(request);
  return { TrainingJobArn: record.arn };
}

function jobOf(name: string, { registry }: OperationContext): LocalTrainingJob {
  const job = registry.find(name);
  if (!job) throw jobNotFound();
  return job;
}

function describeTrainingJob({ TrainingJobName }: Named, context: OperationContext): OperationAnswer {
  return describeJob(jobOf(TrainingJobName, context).record, context.clock.now());
}

async function stopTrainingJob(
  { TrainingJobName }: Named,
  context: OperationContext,
): Promise<OperationAnswer> {
  const job = jobOf(TrainingJobName, context);
  if (hasEnded(job.record)) {
    throw validationException(
      `The request was rejected because the training job is in status ${job.record.status}.`,
    );
  }
  await job.stop();
  return {};
}

function listTrainingJobs(input: ListInput, { registry }: OperationContext): OperationAnswer {
  const page = listJobs(registry.records(), input);
  if (!page) throw validationException('Invalid pagination token: use the NextToken of the page before');
  return {
    TrainingJobSummaries: page.records.map(summariseJob),
    ...(page.nextToken === undefined ? {} : { NextToken: page.nextToken }),
  };
}

const STATUS = { scheduled: 'Scheduled', active: 'Active', expired: 'Expired' } as const;

/** Members without which a plan cannot be used; upfront fee and UltraServers are not modelled. */
function describeTrainingPlan(
  { TrainingPlanName: asked }: { readonly TrainingPlanName: string },
  { reservations }: OperationContext,
): OperationAnswer {
  const name = asked.replace(/^.*\//, '');
  const plan = reservations?.all.find(({ id, kind }) => kind === 'training-plan' && id.endsWith(`/${name}`));
  if (reservations === undefined || plan === undefined) throw jobNotFound();
  const [StartTime, EndTime] = [plan.startsAt, plan.endsAt].map((at) => at && at.getTime() / 1_000);
  const Status = STATUS[reservations.state(plan)];
  const free = reservations.free(plan);
  return {
    TrainingPlanArn: plan.id,
    TrainingPlanName: name,
    Status,
    StartTime,
    EndTime,
    TotalInstanceCount: plan.instances,
    AvailableInstanceCount: free,
    InUseInstanceCount: plan.instances - free,
    TargetResources: ['training-job'],
    ReservedCapacitySummaries: [
      {
        ReservedCapacityArn: `${plan.id.replace('training-plan', 'reserved-capacity')}`,
        InstanceType: `ml.${plan.instanceType}`,
        TotalInstanceCount: plan.instances,
        Status,
        AvailabilityZoneId: plan.zoneId,
        StartTime,
        EndTime,
      },
    ],
  };
}

interface OfferingSearch {
  readonly InstanceType?: string;
  readonly InstanceCount?: number;
  readonly DurationHours?: number;
  /** Seconds since 1970. */
  readonly EndTimeBefore?: number;
}

/** All are for training jobs; extensions of plans are not modelled. */
function searchTrainingPlanOfferings(
  { InstanceType = '', InstanceCount = 1, DurationHours = 24, EndTimeBefore }: OfferingSearch,
  { reservations }: OperationContext,
): OperationAnswer {
  const offers = reservations?.offers({
    kind: 'training-plan',
    instanceType: InstanceType.replace(/^ml\./, ''),
    instances: InstanceCount,
    hours: DurationHours,
    ...(EndTimeBefore !== undefined && { endsBefore: new Date(EndTimeBefore * 1_000) }),
  });
  const TrainingPlanOfferings = (offers ?? []).map(({ id, zoneId, upfrontUsd, startsAt, endsAt }) => {
    const [StartTime, EndTime] = [startsAt, endsAt].map((at) => at.getTime() / 1_000);
    const AvailabilityZone = zoneOf(zoneId)?.zoneName;
    const reserved = { InstanceType, InstanceCount, AvailabilityZone, DurationHours, StartTime, EndTime };
    return {
      TrainingPlanOfferingId: id,
      TargetResources: ['training-job'],
      DurationHours,
      UpfrontFee: upfrontUsd.toFixed(2),
      CurrencyCode: 'USD',
      ReservedCapacityOfferings: [reserved],
    };
  });
  return { TrainingPlanOfferings };
}
