/**
 * ReservationSource on EC2's DescribeCapacityReservations and SageMaker's DescribeTrainingPlan. It reads what a pipeline
 * names, and buys nothing.
 */
import {
  type CapacityReservation,
  type EC2Client,
  paginateDescribeCapacityReservations,
} from '@aws-sdk/client-ec2';
import {
  DescribeTrainingPlanCommand,
  type DescribeTrainingPlanCommandOutput,
  type SageMakerClient,
} from '@aws-sdk/client-sagemaker';
import { isTrainingPlan, type Reserved } from '@tidewheel/declaration/pipeline.ts';
import type { MarketAnswer, Reservation, ReservationSource } from '@tidewheel/placement/market.ts';
import { answered } from './answers.ts';

interface ReservationDeps {
  readonly ec2: () => EC2Client;
  readonly sageMaker: () => SageMakerClient;
  readonly region: string;
  /** The deployment's own. */
  readonly accountId: string;
}

type Named = Exclude<Reserved[number], string>;

export const reservationSource =
  (deps: ReservationDeps): ReservationSource =>
  async (declared) => {
    const plans = declared.filter((each) => typeof each === 'string').filter(isTrainingPlan);
    const others = declared.filter((each) => typeof each !== 'string' || !isTrainingPlan(each));
    const answers = await Promise.all([
      ...(others.length === 0 ? [] : [answered(() => capacityReservations(deps))]),
      ...plans.map((arn) => answered(() => trainingPlan(deps.sageMaker(), arn))),
    ]);
    const found = answers.flatMap((each) => (each.kind === 'known' ? each.value : []));
    const isUnknown = answers.some(({ kind }) => kind === 'unknown');
    const missing = isUnknown ? [] : declared.filter((each) => !found.some((one) => isNamed(one, each)));
    const named = found.filter((each) => declared.some((one) => isNamed(each, one)));
    return {
      reservations: named
        .filter(({ problem }) => problem === undefined)
        .map(({ reservation }) => reservation),
      notes: [
        ...answers.flatMap(noteOn),
        ...named.flatMap(({ problem }) => problem ?? []),
        ...missing.map((each) => missingNote(each, deps.region)),
      ],
    };
  };

interface Described {
  readonly reservation: Reservation;
  readonly tags: readonly { readonly Key?: string | undefined; readonly Value?: string | undefined }[];
  /** Why no host can be launched into it, with the remedy. */
  readonly problem?: string | undefined;
}

const isNamed = ({ reservation, tags }: Described, named: string | Named): boolean =>
  typeof named === 'string'
    ? reservation.id === named
    : tags.some(({ Key, Value }) => Key === named.tag.key && Value === named.tag.value);

const noteOn = (answer: MarketAnswer<readonly Described[]>): readonly string[] =>
  answer.kind === 'unknown' ? [`reservations unknown (${answer.failure}): ${answer.message}`] : answer.notes;

const missingNote = (named: string | Named, region: string): string => {
  const what = typeof named === 'string' ? named : `the tag ${named.tag.key}=${named.tag.value}`;
  return `compute.reserved names ${what}, and this account has no such reservation in ${region}: correct or remove it`;
};

/** All of the account: EC2 has no filter for tags, and refuses a list of ids if it does not know one of them. */
async function capacityReservations({ ec2, accountId }: ReservationDeps): Promise<readonly Described[]> {
  const found: Described[] = [];
  for await (const page of paginateDescribeCapacityReservations({ client: ec2(), stopOnSameToken: true }, {}))
    found.push(...(page.CapacityReservations ?? []).flatMap((each) => reservationOf(each, accountId)));
  return found;
}

function reservationOf(each: CapacityReservation, accountId: string): readonly Described[] {
  const { CapacityReservationId: id, InstanceType: instanceType, State: state, StartDate, EndDate } = each;
  if (id === undefined || instanceType === undefined || state === undefined) return [];
  const group = each.PlacementGroupArn?.split(':');
  return [
    {
      tags: each.Tags ?? [],
      problem: problemOf(each) ?? groupProblemOf(id, group, accountId),
      reservation: {
        id,
        kind: each.ReservationType === 'capacity-block' ? 'capacity-block' : 'capacity-reservation',
        instanceType,
        zoneId: each.AvailabilityZoneId,
        instances: each.TotalInstanceCount ?? 0,
        availableInstances: each.AvailableInstanceCount ?? 0,
        state,
        windows: windowOf(StartDate, EndDate),
        ...(group !== undefined && {
          placementGroup: group.slice(5).join(':').replace('placement-group/', ''),
        }),
      },
    },
  ];
}

/** A launch must match the reservation in both. */
function problemOf({
  CapacityReservationId: id,
  InstancePlatform: platform = 'Linux/UNIX',
  Tenancy: tenancy = 'default',
}: CapacityReservation): string | undefined {
  if (platform === 'Linux/UNIX' && tenancy === 'default') return undefined;
  return `${id} is for ${platform} with ${tenancy} tenancy, and hosts here are Linux/UNIX with default tenancy: remove it from compute.reserved`;
}

/**
 * A launch names a group of its own account by its name, and one of another account by an id that is not described here.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/share-placement-group.html
 * @param group the parts of its ARN
 */
const groupProblemOf = (id: string, group: readonly string[] | undefined, accountId: string) =>
  group === undefined || group[4] === accountId
    ? undefined
    : `${id} was made inside a placement group of account ${group[4]}, which hosts here cannot join: have one made outside a group, or remove it from compute.reserved`;

const windowOf = (start: Date | undefined, end: Date | undefined): Reservation['windows'] => [
  { startsAt: (start ?? new Date(0)).toISOString(), ...(end !== undefined && { endsAt: end.toISOString() }) },
];

/** One for each instance type of the plan, which mostly has one. */
async function trainingPlan(sageMaker: SageMakerClient, arn: string): Promise<readonly Described[]> {
  try {
    const plan = await sageMaker.send(
      new DescribeTrainingPlanCommand({ TrainingPlanName: arn.replace(/^.*\//, '') }),
    );
    // A name is unique in an account and region, and the ARN may be of another one.
    return plan.TrainingPlanArn === arn ? reservationsOf(plan) : [];
  } catch (error: unknown) {
    if (error instanceof Error && isMissing(error)) return [];
    throw error;
  }
}

function reservationsOf(plan: DescribeTrainingPlanCommandOutput): readonly Described[] {
  const { TrainingPlanArn: id = '', Status: state = '', ReservedCapacitySummaries: parts = [] } = plan;
  const isForJobs = plan.TargetResources?.includes('training-job') ?? true;
  return [...Map.groupBy(parts, ({ InstanceType }) => InstanceType)].flatMap(([type, own]) => {
    const instances = Math.max(...own.map(({ TotalInstanceCount = 0 }) => TotalInstanceCount));
    if (type === undefined || !isForJobs) return [];
    const reservation: Reservation = {
      id,
      kind: 'training-plan',
      instanceType: type.replace(/^ml\./, ''),
      zoneId: own[0]?.AvailabilityZoneId,
      instances,
      availableInstances: plan.AvailableInstanceCount ?? 0,
      state,
      windows: own
        .flatMap(({ StartTime, EndTime }) => windowOf(StartTime ?? plan.StartTime, EndTime ?? plan.EndTime))
        .toSorted((a, b) => a.startsAt.localeCompare(b.startsAt)),
    };
    return [{ reservation, tags: [] }];
  });
}

/** SageMaker's model names the first; for training jobs the service answers with the second. */
const isMissing = ({ name, message }: Error): boolean =>
  name === 'ResourceNotFound' ||
  (name === 'ValidationException' && message.startsWith('Requested resource not found'));
