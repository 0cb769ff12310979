/** The instance types with Elastic Fabric Adapter: `data/efa.json`, below what the account's own EC2 answered. */
import efa from '../data/efa.json' with { type: 'json' };

export interface EfaCards {
  /** One a card; 0 where the type has none. */
  readonly efaInterfaces?: number | undefined;
  /** The first network card with EFA; absent: card 0, which carries IP too. */
  readonly firstEfaCard?: number | undefined;
}

const INTERFACES: ReadonlyMap<string, number> = new Map(
  Object.entries(efa.types).flatMap(([count, types]) =>
    types.split(' ').map((type): [string, number] => [type, Number(count)]),
  ),
);
const FIRST_CARD: ReadonlyMap<string, number> = new Map(Object.entries(efa.firstCard));

/** What the snapshot says; empty for a type that has no EFA or that it does not know. */
export function efaOfSnapshot(instanceType: string): EfaCards {
  const efaInterfaces = INTERFACES.get(instanceType);
  const firstEfaCard = FIRST_CARD.get(instanceType);
  return {
    ...(efaInterfaces !== undefined && { efaInterfaces }),
    ...(firstEfaCard !== undefined && { firstEfaCard }),
  };
}

/** @param facts what the account's EC2 answered, which counts before the snapshot; one plain interface always works */
export function efaOf(instanceType: string, facts: EfaCards = {}) {
  const known = facts.efaInterfaces === undefined ? efaOfSnapshot(instanceType) : facts;
  return { interfaces: known.efaInterfaces ?? 0, firstCard: known.firstEfaCard ?? 0 };
}

/**
 * EC2 gives a public address only to hosts with one network interface.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceNetworkInterfaceSpecification.html
 */
export const hasPublicAddress = (instanceType: string, nodes: number, facts?: EfaCards): boolean =>
  nodes === 1 || efaOf(instanceType, facts).interfaces <= 1;
