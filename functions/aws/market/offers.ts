/**
 * OfferSource on EC2's DescribeCapacityBlockOfferings and SageMaker's SearchTrainingPlanOfferings. It reads one
 * page, and buys nothing.
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
      const type = `ml.${instanceType}`;
      if (!isOffered(type)) return [];
      const asked = kind === 'capacity-block' ? blocks(ec2(), question) : plans(sageMaker(), type, question);
      return (await asked).map((each) => ({
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
    EndDateRange: question.endsBefore,
    MaxResults: 1_000,
  });
  const { CapacityBlockOfferings = [] } = await ec2.send(command, soon());
  return CapacityBlockOfferings.filter(({ Tenancy }) => Tenancy !== 'dedicated').flatMap((each) =>
    foundOf(question, { ...each, id: each.CapacityBlockOfferingId }, [
      { ...each, StartTime: each.StartDate, EndTime: each.EndDate },
    ]),
  );
}

async function plans(
  sageMaker: SageMakerClient,
  type: ReservedCapacityInstanceType,
  question: OfferQuestion,
): Promise<readonly Found[]> {
  const command = new SearchTrainingPlanOfferingsCommand({
    InstanceType: type,
    InstanceCount: question.instances,
    DurationHours: question.hours,
    EndTimeBefore: question.endsBefore,
    TargetResources: ['training-job'],
  });
  const { TrainingPlanOfferings = [] } = await sageMaker.send(command, soon());
  return TrainingPlanOfferings.flatMap((each) =>
    foundOf(question, { ...each, id: each.TrainingPlanOfferingId }, each.ReservedCapacityOfferings ?? []),
  );
}

/** The families of both kinds; which of their types, the service says. */
const isOffered = (type: string): type is ReservedCapacityInstanceType => /^ml\.(p[4-9]|trn)/.test(type);

type Priced = Pick<CapacityBlockOffering, 'UpfrontFee' | 'CurrencyCode'> & {
  readonly id: string | undefined;
};
type Part = Pick<ReservedCapacityOffering, 'AvailabilityZone' | 'StartTime' | 'EndTime'> & {
  readonly InstanceCount?: number | undefined;
};

/** Prices of other currencies are not compared, nor parts of another size or in several zones. */
function foundOf(
  { instances }: OfferQuestion,
  { id, UpfrontFee, CurrencyCode }: Priced,
  parts: readonly Part[],
): readonly Found[] {
  const upfrontUsd = Number(UpfrontFee ?? Number.NaN);
  const isOther = (part: Part) =>
    part.InstanceCount !== instances || part.AvailabilityZone !== parts[0]?.AvailabilityZone;
  if (id === undefined || CurrencyCode !== 'USD' || !(upfrontUsd > 0) || parts.some(isOther)) return [];
  const windows = parts.flatMap(({ StartTime: start, EndTime: end }) =>
    start && end ? [{ startsAt: start.toISOString(), endsAt: end.toISOString() }] : [],
  );
  return [{ id, zone: parts[0]?.AvailabilityZone, windows, upfrontUsd }];
}
