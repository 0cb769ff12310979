/**
 * SageMaker Model Registry: a model package group for each pipeline, a package for each model. The one that is Approved is
 * the model in use.
 *
 * What this service has written there last stands in the package's own metadata, in the same call as the status. A status
 * that differs from it is a person's.
 */

import { hash } from 'node:crypto';
import {
  CreateModelPackageCommand,
  CreateModelPackageGroupCommand,
  type CreateModelPackageInput,
  DescribeModelPackageCommand,
  type DescribeModelPackageOutput,
  ListModelPackagesCommand,
  type ModelApprovalStatus,
  type SageMakerClient,
  UpdateModelPackageCommand,
} from '@aws-sdk/client-sagemaker';
import { awsErrorClass } from '../../records/aws-error-class.ts';
import type { Model } from '../../records/models.ts';
import type { Handed, HandedModel, ModelRegistry } from '../../run/models/hand-over.ts';
import { rethrow } from '../shared/aws-errors.ts';

const STATUS = {
  current: 'Approved',
  candidate: 'PendingManualApproval',
  former: 'PendingManualApproval',
  rejected: 'Rejected',
} as const satisfies Record<Model['state'], ModelApprovalStatus>;

interface Declared {
  readonly group: string;
  readonly declared: { readonly image?: string | undefined; readonly approvalPromotes: boolean };
}

export const sageMakerRegistry = (client: SageMakerClient, to: Declared): ModelRegistry => ({
  name: 'SageMaker Model Registry',
  address: 'SageMaker',
  put: (handed) =>
    put(client, to, handed).catch((error: unknown) =>
      rethrow(`hand the model of ${handed.model.runId} over to ${to.group}`, error),
    ),
});

/** @returns the run that a package was handed over for */
export async function runOfPackage(client: SageMakerClient, arn: string): Promise<string | undefined> {
  const shown = await client
    .send(new DescribeModelPackageCommand({ ModelPackageName: arn }))
    .catch(noneIfMissing);
  return shown?.CustomerMetadataProperties?.['tidewheel.run'];
}

async function put(client: SageMakerClient, to: Declared, handed: HandedModel): Promise<Handed> {
  const { model, overruled, tags } = handed;
  const arn = (await packageOf(client, to.group, model)) ?? (await create(client, to, handed));
  const shown = await client.send(new DescribeModelPackageCommand({ ModelPackageName: arn }));
  if (to.declared.approvalPromotes && overruled === undefined && isApprovedByPerson(shown, handed)) {
    const by = shown.LastModifiedBy?.UserProfileName ?? 'a person';
    // A person who writes none leaves ours.
    const own = stateOf(handed).ApprovalDescription;
    const reason = shown.ApprovalDescription === own ? undefined : shown.ApprovalDescription;
    return {
      kind: 'approved',
      by: `${by} in SageMaker Model Registry`,
      reason: reason || `approved as version ${shown.ModelPackageVersion}`,
    };
  }
  if (overruled !== undefined || isOvertaken(to, shown, model) || !isWritten(shown, tags))
    await client.send(new UpdateModelPackageCommand({ ModelPackageArn: arn, ...stateOf(handed) }));
  return { kind: 'stands', where: `version ${shown.ModelPackageVersion} of ${to.group}` };
}

const STATE = 'tidewheel.state';
const DECISION = 'tidewheel.decision';

const isWritten = (
  { CustomerMetadataProperties: shown = {} }: DescribeModelPackageOutput,
  tags: HandedModel['tags'],
): boolean => shown[STATE] === tags[STATE] && shown[DECISION] === tags[DECISION];

/** A later decision here has overtaken the approval. */
const isOvertaken = (
  { declared }: Declared,
  { ModelApprovalStatus: status }: DescribeModelPackageOutput,
  { state }: Model,
): boolean => declared.approvalPromotes && state !== 'current' && status === 'Approved';

/** Not an echo of ours, and later than the last decision here. */
function isApprovedByPerson(shown: DescribeModelPackageOutput, { model, current }: HandedModel): boolean {
  const { ModelApprovalStatus: status, CustomerMetadataProperties: own = {}, LastModifiedTime } = shown;
  if (status !== 'Approved' || model.state === 'current' || own[STATE] === 'current') return false;
  const last = Math.max(...[model, current ?? model].map(({ at }) => Date.parse(at)));
  return LastModifiedTime !== undefined && LastModifiedTime.getTime() > last;
}

const descriptionOf = ({ runId }: Pick<Model, 'runId'>): string => `Tidewheel run ${runId}`;

/** The first package of the run: a process may have died before it knew that it had made one. */
async function packageOf(client: SageMakerClient, group: string, model: Model): Promise<string | undefined> {
  let NextToken: string | undefined;
  do {
    const page = await client
      .send(
        new ListModelPackagesCommand({
          ModelPackageGroupName: group,
          SortBy: 'CreationTime',
          SortOrder: 'Ascending',
          MaxResults: 100,
          NextToken,
        }),
      )
      .catch(noneIfMissing);
    const found = page?.ModelPackageSummaryList?.find(
      ({ ModelPackageDescription }) => ModelPackageDescription === descriptionOf(model),
    );
    if (found !== undefined) return found.ModelPackageArn;
    NextToken = page?.NextToken;
  } while (NextToken !== undefined);
  return undefined;
}

/** AWS does not say how it answers for a group or a package that does not exist. */
function noneIfMissing(error: unknown): undefined {
  const kind = awsErrorClass(error);
  if (kind !== 'notFound' && kind !== 'validation') throw error;
}

async function create(client: SageMakerClient, { group, declared }: Declared, handed: HandedModel) {
  await client
    .send(
      new CreateModelPackageGroupCommand({
        ModelPackageGroupName: group,
        ModelPackageGroupDescription: 'Models of a pipeline of Tidewheel: the approved one is in use',
      }),
    )
    .catch((error: unknown) => {
      // It exists. Where it does not, the next call says why.
      if (awsErrorClass(error) !== 'conflict' && awsErrorClass(error) !== 'validation') throw error;
    });
  const { ModelPackageArn = '' } = await client.send(
    new CreateModelPackageCommand(packageRequest(group, declared, handed)),
  );
  // AWS does not say how long SageMaker remembers the token.
  return (await packageOf(client, group, handed.model)) ?? ModelPackageArn;
}

/** The same at each try, so that SageMaker knows a repeated one by its token: the state comes after it. */
function packageRequest(
  group: string,
  { image }: Declared['declared'],
  { model, judgement, jobName }: HandedModel,
): CreateModelPackageInput {
  return {
    ModelPackageGroupName: group,
    ModelPackageDescription: descriptionOf(model),
    ClientToken: hash('sha256', `${group}/${model.runId}`, 'hex').slice(0, 32),
    ModelApprovalStatus: 'PendingManualApproval',
    CustomerMetadataProperties: { 'tidewheel.run': model.runId },
    ...(image === undefined
      ? { SourceUri: model.uri }
      : { InferenceSpecification: { Containers: [{ Image: image, ModelDataUrl: model.uri }] } }),
    ...(judgement !== undefined && {
      ModelMetrics: { ModelQuality: { Statistics: { ContentType: 'application/json', S3Uri: judgement } } },
    }),
    ...(jobName !== undefined && { MetadataProperties: { GeneratedBy: jobName } }),
  };
}

function stateOf({ model, tags, overruled }: HandedModel) {
  return {
    ModelApprovalStatus: STATUS[model.state],
    ApprovalDescription: (overruled ?? `${model.by}: ${model.reason}`).replace(/\s+/g, ' ').slice(0, 1_024),
    CustomerMetadataProperties: Object.fromEntries(
      Object.entries(tags).map(([name, value]) => [name, plain(value)]),
    ),
  };
}

/** SageMaker takes 256 characters of these. */
const plain = (value: string): string =>
  Array.from(value.replace(/[^\p{L}\p{Z}\p{N}_.:/=+\-@]/gu, ' '))
    .slice(0, 256)
    .join('');
