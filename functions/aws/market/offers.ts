/**
 * OfferSource on EC2's DescribeCapacityBlockOfferings and SageMaker's SearchTrainingPlanOfferings. It reads one page of
 * the best matches, and buys nothing.
 */
import {
  type CapacityBlockOffering,
  DescribeCapacityBlockOfferingsCommand,
  type EC2Client,
} from '@aws-sdk/client-ec2';
import {
  type ReservedCapacityInstanceType,
  type ReservedCapacityOffering,
  type SageMakerClient,
  SearchTrainingPlanOfferingsCommand,
} from '@aws-sdk/client-sagemaker';
import type { CapacityOffer, OfferQuestion, OfferSource } from '@tidewheel/placement/market.ts';
import { answered } from './answers.ts';

interface OfferDeps {
  readonly ec2: () => EC2Client;
  readonly sageMaker: () => SageMakerClient;
}

export const offerSource =
  ({ ec2, sageMaker }: OfferDeps): OfferSource =>
  (question) =>
    answered(async () => {
      const { kind, instanceType, instances } = question;
      const asked = kind === 'capacity-block' ? blocks(ec2(), question) : plans(sageMaker(), question);
      return (await asked.catch(noneIfNotOffered)).map((each) => ({
        ...each,
        kind,
        instanceType,
        instances,
      }));
    });

type Found = Pick<CapacityOffer, 'id' | 'zone' | 'windows' | 'upfrontUsd'>;

/** A plan of the API has 30 seconds for everything. */
const soon = () => ({ abortSignal: AbortSignal.timeout(5_000) });

async function blocks(ec2: EC2Client, question: OfferQuestion): Promise<readonly Found[]> {
  const command = new DescribeCapacityBlockOfferingsCommand({
    InstanceType: question.instanceType,
    InstanceCount: question.instances,
    CapacityDurationHours: question.hours,
    StartDateRange: question.startsAfter,
    EndDateRange: question.endsBefore,
  });
  const { CapacityBlockOfferings = [] } = await ec2.send(command, soon());
  return CapacityBlockOfferings.filter(({ Tenancy }) => Tenancy !== 'dedicated').flatMap((each) =>
    foundOf(each.CapacityBlockOfferingId, each, [
      { ...each, StartTime: each.StartDate, EndTime: each.EndDate },
    ]),
  );
}

async function plans(sageMaker: SageMakerClient, question: OfferQuestion): Promise<readonly Found[]> {
  const InstanceType = `ml.${question.instanceType}`;
  if (!isOfPlans(InstanceType)) return [];
  const command = new SearchTrainingPlanOfferingsCommand({
    InstanceType,
    InstanceCount: question.instances,
    DurationHours: question.hours,
    StartTimeAfter: question.startsAfter,
    EndTimeBefore: question.endsBefore,
    TargetResources: ['training-job'],
  });
  const { TrainingPlanOfferings = [] } = await sageMaker.send(command, soon());
  return TrainingPlanOfferings.flatMap((each) =>
    foundOf(each.TrainingPlanOfferingId, each, each.ReservedCapacityOfferings ?? []),
  );
}

/** The families of training plans; which of their types, the service says. */
const isOfPlans = (type: string): type is ReservedCapacityInstanceType => /^ml\.(p\d|trn)/.test(type);

/** Prices of other currencies are not compared. */
function foundOf(
  id: string | undefined,
  { UpfrontFee = '', CurrencyCode }: Pick<CapacityBlockOffering, 'UpfrontFee' | 'CurrencyCode'>,
  parts: readonly Pick<ReservedCapacityOffering, 'AvailabilityZone' | 'StartTime' | 'EndTime'>[],
): readonly Found[] {
  const upfrontUsd = Number.parseFloat(UpfrontFee);
  if (id === undefined || CurrencyCode !== 'USD' || Number.isNaN(upfrontUsd)) return [];
  const windows = parts.flatMap(({ StartTime: start, EndTime: end }) =>
    start && end ? [{ startsAt: start.toISOString(), endsAt: end.toISOString() }] : [],
  );
  return [{ id, zone: parts[0]?.AvailabilityZone, windows, upfrontUsd }];
}

/** Either service refuses a type or a size so that it does not offer; other refusals are failures. */
function noneIfNotOffered(error: unknown): readonly Found[] {
  if (error instanceof Error && /^(ValidationException|InvalidParameter|Unsupported)/.test(error.name))
    return [];
  throw error;
}
