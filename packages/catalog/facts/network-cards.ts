/** The instance types with Elastic Fabric Adapter. */

/**
 * Network cards of the types with EFA, one EFA each (EC2 DescribeInstanceTypes, August 2026).
 * A type that is missing here gets one plain interface, which always works.
 */
const NETWORK_CARDS: Readonly<Record<string, number>> = {
  'c5n.9xlarge': 1,
  'c5n.18xlarge': 1,
  'g4dn.8xlarge': 1,
  'g4dn.12xlarge': 1,
  'g4dn.16xlarge': 1,
  'g4dn.metal': 1,
  'g5.8xlarge': 1,
  'g5.12xlarge': 1,
  'g5.16xlarge': 1,
  'g5.24xlarge': 1,
  'g5.48xlarge': 1,
  'g6.8xlarge': 1,
  'g6.12xlarge': 1,
  'g6.16xlarge': 1,
  'g6.24xlarge': 1,
  'g6.48xlarge': 1,
  'g6e.8xlarge': 1,
  'g6e.12xlarge': 1,
  'g6e.16xlarge': 1,
  'g6e.24xlarge': 2,
  'g6e.48xlarge': 4,
  'p3dn.24xlarge': 1,
  'p4d.24xlarge': 4,
  'p4de.24xlarge': 4,
  'p5.4xlarge': 1,
  'p5.48xlarge': 32,
  'p5en.48xlarge': 16,
  'trn1.32xlarge': 8,
};

/** 0 when the type has no EFA or is unknown. */
export const efaCards = (instanceType: string): number =>
  Object.hasOwn(NETWORK_CARDS, instanceType) ? (NETWORK_CARDS[instanceType] ?? 0) : 0;

/**
 * EC2 gives a public address only to hosts with one network interface.
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceNetworkInterfaceSpecification.html
 */
export const hasPublicAddress = (instanceType: string, nodes: number): boolean =>
  nodes === 1 || efaCards(instanceType) <= 1;
