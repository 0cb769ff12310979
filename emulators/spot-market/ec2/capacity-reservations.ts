/** DescribeCapacityReservations and DescribeCapacityBlockOfferings, and what a launch into one is refused with. */

import { zoneOf } from '../model/offers.ts';
import type { LocalReservation } from '../model/reservations.ts';
import { Ec2Error } from './ec2-error.ts';
import type { Ec2Query } from './query.ts';
import type { Ec2Answer, ServiceRequest } from './service.ts';
import { fleetAnswer } from './vcpu-gate.ts';

export function describeCapacityReservations({ query, region, market }: ServiceRequest): Ec2Answer {
  const { reservations } = market;
  const known = reservations.all.filter(({ kind }) => kind !== 'training-plan');
  const ids = query.list('CapacityReservationId');
  const unknown = ids.filter((id) => !known.some((each) => each.id === id));
  if (unknown.length > 0)
    throw new Ec2Error(
      'InvalidCapacityReservationId.NotFound',
      `The capacity reservation ID '${unknown.join(', ')}' does not exist`,
    );
  const chosen = known.filter(({ id }) => ids.length === 0 || ids.includes(id));
  return { capacityReservationSet: chosen.map((each) => itemOf(each, region, market)) };
}

/** UltraServers are not modelled. */
export function describeCapacityBlockOfferings({ query, market }: ServiceRequest): Ec2Answer {
  const hours = query.integer('CapacityDurationHours', { minimum: 24, maximum: 182 * 24 });
  if (hours === undefined)
    throw new Ec2Error('MissingParameter', 'The request must contain the parameter CapacityDurationHours');
  const offers = market.reservations.offers({
    kind: 'capacity-block',
    instanceType: query.text('InstanceType') ?? '',
    instances: query.integer('InstanceCount', { minimum: 1, maximum: 64 }) ?? 1,
    hours,
    endsBefore: query.time('EndDateRange'),
  });
  return {
    capacityBlockOfferingSet: offers.map((each) => ({
      capacityBlockOfferingId: each.id,
      instanceType: each.instanceType,
      availabilityZone: zoneOf(each.zoneId)?.zoneName,
      instanceCount: each.instances,
      startDate: each.startsAt,
      endDate: each.endsAt,
      capacityBlockDurationHours: hours,
      upfrontFee: each.upfrontUsd.toFixed(2),
      currencyCode: 'USD',
      tenancy: 'default',
    })),
  };
}

const OWN_ACCOUNT = '000000000000';

const itemOf = (each: LocalReservation, region: string, { reservations }: ServiceRequest['market']) => ({
  capacityReservationId: each.id,
  instanceType: each.instanceType,
  instancePlatform: 'Linux/UNIX',
  availabilityZoneId: each.zoneId,
  availabilityZone: zoneOf(each.zoneId)?.zoneName,
  ownerId: each.ownerId ?? OWN_ACCOUNT,
  placementGroupArn:
    each.placementGroup &&
    `arn:aws:ec2:${region}:${each.ownerId ?? OWN_ACCOUNT}:placement-group/${each.placementGroup}`,
  tenancy: 'default',
  totalInstanceCount: each.instances,
  availableInstanceCount: reservations.free(each),
  state: reservations.state(each),
  startDate: each.startsAt,
  endDate: each.endsAt,
  endDateType: each.endsAt === undefined ? 'unlimited' : 'limited',
  instanceMatchCriteria: 'targeted',
  reservationType: each.kind === 'capacity-block' ? 'capacity-block' : 'default',
  tagSet: Object.entries(each.tags ?? {}).map(([key, value]) => ({ key, value })),
});

const TARGET =
  'LaunchTemplateData.CapacityReservationSpecification.CapacityReservationTarget.CapacityReservationId';

/** Remembers which reservation a launch template targets: the emulator behind it keeps no such field. */
export function noteTarget(query: Ec2Query, { reservations }: ServiceRequest['market']): void {
  const [template, id] = [query.text('LaunchTemplateName'), query.text(TARGET)];
  if (template !== undefined && id !== undefined)
    reservations.target(template, id, query.text('LaunchTemplateData.Placement.GroupName'));
}

/** @returns what a fleet is answered with whose reservation has no room, or has not begun; undefined where it may go on */
export function refusedByReservation(
  query: Ec2Query,
  { reservations }: ServiceRequest['market'],
): Ec2Answer | undefined {
  const template = query.text('LaunchTemplateConfigs.1.LaunchTemplateSpecification.LaunchTemplateName') ?? '';
  const id = reservations.targetOf(template);
  const count = query.integer('TargetCapacitySpecification.TotalTargetCapacity') ?? 1;
  if (id === undefined || reservations.admits(id, count, query.text('ClientToken'))) return undefined;
  const type = query.text('LaunchTemplateConfigs.1.Overrides.1.InstanceType') ?? '';
  const message = `The requested reservation '${id}' does not have sufficient compatible and available capacity for this request.`;
  return fleetAnswer([{ type, code: 'ReservationCapacityExceeded', message }], {
    purchaseOption: 'on-demand',
  });
}
