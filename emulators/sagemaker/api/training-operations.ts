/** The API's operations: a checked body in, the answer's body out. */
import type { CreateTrainingJobRequest } from '@aws-sdk/client-sagemaker';
import type { LocalClock } from '../../clock/clock.ts';
import { MAXIMUM_HOSTS } from '../hosts/container.ts';
import { describeJob, summariseJob } from '../jobs/describe.ts';
import type { JobRegistry } from '../jobs/registry.ts';
import type { LocalTrainingJob } from '../jobs/training-job.ts';
import { groupsOf, hasEnded } from '../model/job-record.ts';
import { jobNotFound, RequestRefused, validationException } from '../model/refusals.ts';
import { type ListInput, listJobs } from './list-jobs.ts';
import { brokenRules, type LocalAbilities } from './rules.ts';
import trimmedModel from './service-model.json' with { type: 'json' };
import { JSON_BODY, requestViolations, type ServiceModel, violationMessage } from './service-model.ts';

export type OperationAnswer = Readonly<Record<string, unknown>>;

export interface OperationContext {
  readonly registry: JobRegistry;
  readonly abilities: LocalAbilities;
  readonly timeScale: number;
  readonly clock: LocalClock;
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
interface OfResource {
  readonly ResourceArn: string;
}

const OPERATIONS: ReadonlyMap<string, Operation> = new Map([
  ['CreateTrainingJob', operation(createTrainingJob)],
  ['DescribeTrainingJob', operation(describeTrainingJob)],
  ['StopTrainingJob', operation(stopTrainingJob)],
  ['DeleteTrainingJob', operation(deleteTrainingJob)],
  ['UpdateTrainingJob', operation(updateTrainingJob)],
  ['ListTrainingJobs', operation(listTrainingJobs)],
  ['AddTags', operation(addTags)],
  ['ListTags', operation(listTags)],
  ['DeleteTags', operation(deleteTags)],
]);

export const OPERATION_NAMES: readonly string[] = [...OPERATIONS.keys()];

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
      `The local SageMaker has no operation ${JSON.stringify(name.slice(0, 100))}; it has ${OPERATION_NAMES.join(', ')}`,
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
  const problems = brokenRules(request, context.abilities);
  const hosts = groupsOf(request).reduce((sum, group) => sum + group.count, 0);
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
  return describeJob(jobOf(TrainingJobName, context).record, context.timeScale, context.clock.now());
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

async function deleteTrainingJob(
  { TrainingJobName }: Named,
  context: OperationContext,
): Promise<OperationAnswer> {
  const { record } = jobOf(TrainingJobName, context);
  if (!hasEnded(record)) {
    throw new RequestRefused(
      'ResourceInUse',
      `Training job ${record.arn} is in status ${record.status}, stop it first`,
    );
  }
  await context.registry.remove(TrainingJobName);
  return {};
}

async function updateTrainingJob(
  body: Named & Pick<CreateTrainingJobRequest, 'ProfilerConfig' | 'RemoteDebugConfig'>,
  context: OperationContext,
): Promise<OperationAnswer> {
  const job = jobOf(body.TrainingJobName, context);
  if (hasEnded(job.record)) {
    throw validationException(
      `The request was rejected because the training job is in status ${job.record.status}.`,
    );
  }
  const { TrainingJobName: _name, ...changes } = body;
  await job.amend((record) => {
    const { ResourceConfig } = record.request;
    const merged =
      'ResourceConfig' in changes ? { ...ResourceConfig, ...Object(changes.ResourceConfig) } : ResourceConfig;
    return {
      ...record,
      request: { ...record.request, ...changes, ResourceConfig: merged },
      modifiedAt: context.clock.now(),
    };
  });
  return { TrainingJobArn: job.record.arn };
}

function listTrainingJobs(input: ListInput, { registry }: OperationContext): OperationAnswer {
  const page = listJobs(registry.records(), input);
  if (!page) throw validationException('Invalid pagination token: use the NextToken of the page before');
  return {
    TrainingJobSummaries: page.records.map(summariseJob),
    ...(page.nextToken === undefined ? {} : { NextToken: page.nextToken }),
  };
}

function jobOfArn({ ResourceArn }: OfResource, { registry }: OperationContext): LocalTrainingJob {
  const job = registry.findByArn(ResourceArn);
  if (!job) throw new RequestRefused('ResourceNotFound', `There is no training job ${ResourceArn}`);
  return job;
}

const MAXIMUM_TAGS = 50;

const tagList = (tags: Readonly<Record<string, string>>): readonly { Key: string; Value: string }[] =>
  Object.entries(tags).map(([Key, Value]) => ({ Key, Value }));

async function addTags(
  body: OfResource & { readonly Tags: readonly { Key: string; Value: string }[] },
  context: OperationContext,
): Promise<OperationAnswer> {
  const job = jobOfArn(body, context);
  const tags = { ...job.record.tags, ...Object.fromEntries(body.Tags.map(({ Key, Value }) => [Key, Value])) };
  if (Object.keys(tags).length > MAXIMUM_TAGS) {
    throw validationException(`A training job has ${MAXIMUM_TAGS} tags at most, remove some first`);
  }
  await job.amend((record) => ({ ...record, tags }));
  return { Tags: tagList(tags) };
}

/** All on one page: a job has 50 at most, and a page holds 50 at least. */
function listTags(body: OfResource, context: OperationContext): OperationAnswer {
  return { Tags: tagList(jobOfArn(body, context).record.tags) };
}

async function deleteTags(
  body: OfResource & { readonly TagKeys: readonly string[] },
  context: OperationContext,
): Promise<OperationAnswer> {
  const job = jobOfArn(body, context);
  const kept = Object.entries(job.record.tags).filter(([key]) => !body.TagKeys.includes(key));
  await job.amend((record) => ({ ...record, tags: Object.fromEntries(kept) }));
  return {};
}
