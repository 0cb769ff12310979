/** The pools of what the account has reserved, when their hosts may run, and why one of them cannot take a gang. */

import { launcherFacts } from '@tidewheel/catalog/launchers.ts';
import { LAUNCHERS, type LauncherName, launchersOf } from '@tidewheel/declaration/launchers.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Reservation } from '../records/market-history.ts';
import { nameOfReservation, type Topology } from '../records/placement-records.ts';

/**
 * AWS begins to end the hosts of Capacity Blocks and training plans half an hour before their end.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-monitor.html
 * https://docs.aws.amazon.com/sagemaker/latest/dg/training-plan-utilization-for-training-jobs.html
 */
export const ENDING_SECONDS = 1_800;

const isServedBy = ({ kind }: Reservation, launcher: LauncherName): boolean =>
  launcherFacts[launcher].reservations.includes(kind);

/** When hosts may run in it, in order: until they must be free, which is never for a reservation of no end. */
export const hostWindows = ({ kind, windows }: Pick<Reservation, 'kind' | 'windows'>) =>
  windows.map(({ startsAt, endsAt }) => ({
    fromMilliseconds: Date.parse(startsAt),
    untilMilliseconds:
      endsAt === undefined
        ? Number.POSITIVE_INFINITY
        : Date.parse(endsAt) - (kind === 'capacity-reservation' ? 0 : ENDING_SECONDS * 1_000),
  }));

/** States in which it has capacity, or surely will have it. */
const USABLE = /^(active|scheduled)$/i;
/** States that pass. */
const PASSING = /pending|assess|delay/i;

export interface ReservedQuestion {
  readonly compute: Pipeline['compute'];
  /** The types that the pipeline may use. */
  readonly instanceTypes: readonly string[];
  readonly now: Date;
}

/** Why no run of the pipeline can use it, with the remedy; undefined where one can. */
export function reservationProblem(
  reservation: Reservation,
  { compute, instanceTypes, now }: ReservedQuestion,
): string | undefined {
  const { id, state, instanceType, zoneId } = reservation;
  const name = nameOfReservation(id);
  const remove = 'remove it from compute.reserved';
  if (!USABLE.test(state))
    return `${name} is ${state}: ${PASSING.test(state) ? 'wait for it, or ' : ''}${remove}`;
  if (hostWindows(reservation).every(({ untilMilliseconds }) => untilMilliseconds <= now.getTime()))
    return `${name} has ended: ${remove}`;
  if (!instanceTypes.includes(instanceType))
    return `${name} holds ${instanceType}, which the pipeline does not use: add it to compute.instanceTypes, or ${remove}`;
  if (!launchersOf(compute).some((each) => isServedBy(reservation, each)))
    return `${name} serves ${LAUNCHERS.filter((each) => isServedBy(reservation, each)).join()} alone: name it as launcher, or ${remove}`;
  if (compute.vpc !== undefined && zoneId !== undefined && !subnetIn(compute, zoneId))
    return `${name} is in ${zoneId}: add a subnet there to compute.vpc.subnets, or ${remove}`;
  return undefined;
}

const subnetIn = ({ vpc }: Pick<Pipeline['compute'], 'vpc'>, zoneId: string | undefined) =>
  vpc?.subnets.find((subnet) => zoneId === undefined || subnet.zoneId === zoneId);

const HELPERS =
  'AWS does not say whether a training plan takes helper groups: leave them out, or remove it from compute.reserved';

/** Those of the topology's type, with the subnet in their zone, or why the gang does not fit. */
export function reservedFor(
  { instanceType, nodes, helpers }: Pick<Topology, 'nodes' | 'helpers'> & { readonly instanceType: string },
  reservations: readonly Reservation[],
  { compute, launcher, now }: Pick<ReservedQuestion, 'compute' | 'now'> & { readonly launcher: LauncherName },
) {
  const own = reservations.filter((each) => each.instanceType === instanceType && isServedBy(each, launcher));
  return own.map((reservation) => {
    const { id, kind, instances, zoneId } = reservation;
    const subnet = subnetIn(compute, zoneId);
    const problem =
      reservationProblem(reservation, { compute, instanceTypes: [instanceType], now }) ??
      (kind === 'training-plan' && (helpers ?? compute.helpers) !== undefined ? HELPERS : undefined) ??
      (instances < nodes
        ? `${nameOfReservation(id)} has ${instances} instances, and the gang needs ${nodes}`
        : undefined);
    // Where the zone is unknown, every subnet is offered.
    return { reservation, zoneId, subnetId: zoneId === undefined ? undefined : subnet?.id, problem };
  });
}
