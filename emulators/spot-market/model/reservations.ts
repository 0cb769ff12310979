/** Capacity that an account has reserved: its clock, who is in it, and the end of its hosts. */
import type { LocalClock } from '../../clock/clock.ts';
import type { CapacityLease, CapacityMarket, CapacityRequest } from './capacity-source.ts';

export interface LocalReservation {
  /** cr-… or the ARN of a training plan. */
  readonly id: string;
  readonly kind: 'capacity-reservation' | 'capacity-block' | 'training-plan';
  /** EC2's name, without `ml.` */
  readonly instanceType: string;
  readonly zoneId: string;
  readonly instances: number;
  readonly startsAt: Date;
  /** Absent: it does not end. */
  readonly endsAt?: Date;
  readonly tags?: Readonly<Record<string, string>>;
  /** The account that shares it. Default: the region's own. */
  readonly ownerId?: string;
  /** The placement group that it was made inside, of the owner's account. */
  readonly placementGroup?: string;
}

/** What the account could reserve for a price. */
export interface LocalOffer extends LocalReservation {
  readonly endsAt: Date;
  readonly upfrontUsd: number;
}

interface OfferFilter extends Pick<LocalReservation, 'kind' | 'instanceType'> {
  readonly instances: number;
  readonly hours: number;
  readonly endsBefore?: Date | undefined;
}

export interface Reservations {
  readonly all: readonly LocalReservation[];
  /** Those that begin after now and fit, the cheapest first. */
  offers(filter: OfferFilter): readonly LocalOffer[];
  state(reservation: LocalReservation): 'scheduled' | 'active' | 'expired';
  free(reservation: LocalReservation): number;
  /** A launch template of that name targets it, and names the placement group. */
  target(template: string, id: string, placementGroup?: string): void;
  targetOf(template: string): string | undefined;
  /**
   * Whether so many instances may be launched into it. Each is counted when it gets its lease.
   * @param token of the request: a repeated one is answered as before
   */
  admits(id: string, instances: number, token?: string): boolean;
  /** The market, with what is reserved in it. */
  beside(market: CapacityMarket): CapacityMarket;
}

/** AWS takes the hosts of blocks and plans from then on; those of an On-Demand reservation go on outside it. */
const ENDING_MILLISECONDS = 1_800_000;

export function makeReservations(
  all: readonly LocalReservation[],
  clock: LocalClock,
  offered: readonly LocalOffer[] = [],
): Reservations {
  const byId = new Map(all.map((each) => [each.id, each]));
  const held = new Map<string, number>();
  const targets = new Map<string, string>();
  const admitted = new Set<string>();
  const listeners = new Set<() => void>();
  const state: Reservations['state'] = (each) => stateAt(clock.now(), each);
  const free: Reservations['free'] = (each) =>
    state(each) === 'active' ? each.instances - (held.get(each.id) ?? 0) : 0;
  const hasRoom = (found: LocalReservation, instances: number): boolean =>
    free(found) >= instances && !isEnding(found, clock);
  const admits: Reservations['admits'] = (id, instances, token) => {
    if (token !== undefined && admitted.has(token)) return true;
    const found = byId.get(id);
    if (found === undefined || !hasRoom(found, instances)) return false;
    if (token !== undefined) admitted.add(token);
    return true;
  };
  const give = (id: string, instances: number): void => {
    held.set(id, (held.get(id) ?? 0) - instances);
    for (const listener of listeners) listener();
  };
  for (const { startsAt } of all)
    if (startsAt.getTime() > clock.now())
      clock.at(startsAt.getTime(), () => listeners.forEach((listener) => listener()));
  const leaseIn = (id: string, request: CapacityRequest): CapacityLease | undefined => {
    const found = byId.get(id);
    const instances = request.groups.reduce((sum, { count }) => sum + count, 0);
    if (found === undefined || !hasRoom(found, instances)) return undefined;
    held.set(id, (held.get(id) ?? 0) + instances);
    return leaseOf(found, clock, () => give(id, instances));
  };
  return {
    all,
    offers: (filter) => offered.filter((each) => isOffered(each, filter, clock)).toSorted(byPrice),
    state,
    free,
    target: (template, id, group) => void targets.set(template, targetIn(group, byId.get(id)) ?? id),
    targetOf: (template) => targets.get(template),
    admits,
    beside: (market) => ({
      acquire: (request) => {
        const id = request.reservation ?? targets.get(request.owner);
        return id === undefined ? market.acquire(request) : leaseIn(id, request);
      },
      onCapacity: (listener) => {
        listeners.add(listener);
        const unsubscribe = market.onCapacity(listener);
        return () => {
          listeners.delete(listener);
          unsubscribe();
        };
      },
    }),
  };
}

function stateAt(now: number, { startsAt, endsAt }: LocalReservation) {
  if (now < startsAt.getTime()) return 'scheduled';
  return endsAt !== undefined && now >= endsAt.getTime() ? 'expired' : 'active';
}

/** A launch outside the placement group of its reservation finds no capacity, as in one that does not exist. */
const targetIn = (group: string | undefined, found: LocalReservation | undefined): string | undefined =>
  found === undefined || found.placementGroup === group ? found?.id : `${found.id} in ${group ?? 'no group'}`;

const HOUR_MILLISECONDS = 3_600_000;

const byPrice = (a: LocalOffer, b: LocalOffer): number => a.upfrontUsd - b.upfrontUsd;

const isOffered = (
  { kind, instanceType, instances, startsAt, endsAt }: LocalOffer,
  wanted: OfferFilter,
  clock: LocalClock,
): boolean =>
  kind === wanted.kind &&
  instanceType === wanted.instanceType &&
  instances === wanted.instances &&
  endsAt.getTime() - startsAt.getTime() === wanted.hours * HOUR_MILLISECONDS &&
  startsAt.getTime() >= clock.now() &&
  endsAt.getTime() <= (wanted.endsBefore?.getTime() ?? Number.POSITIVE_INFINITY);

const endOfHosts = ({ kind, endsAt }: LocalReservation): number | undefined =>
  endsAt === undefined || kind === 'capacity-reservation'
    ? undefined
    : endsAt.getTime() - ENDING_MILLISECONDS;

const isEnding = (each: LocalReservation, clock: LocalClock): boolean =>
  clock.now() >= (endOfHosts(each) ?? Number.POSITIVE_INFINITY);

function leaseOf(reservation: LocalReservation, clock: LocalClock, give: () => void): CapacityLease {
  let isHeld = true;
  let callOff: (() => void) | undefined;
  return {
    zoneId: reservation.zoneId,
    onReclaim: (listener) => {
      const end = endOfHosts(reservation);
      if (end !== undefined)
        callOff = clock.at(end, () => listener({ graceSeconds: 0, isReservationOver: true }));
    },
    checkpointSynced: () => undefined,
    release: () => {
      if (!isHeld) return;
      isHeld = false;
      callOff?.();
      give();
    },
  };
}
