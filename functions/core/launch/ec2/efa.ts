/**
 * Elastic Fabric Adapter: the network interfaces that a host of a gang needs for it.
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/efa-acc-inst-types.html
 */
import { efaCards } from '../../catalog/network-cards.ts';
import type { NetworkInterfaceRequest } from './request.ts';

export interface InterfacesInput {
  readonly instanceType: string;
  readonly nodes: number;
  readonly subnetId: string;
  readonly securityGroupIds: readonly string[];
}

/**
 * A single host needs no EFA. In a gang, card 0 carries IP and EFA. Every other card carries EFA only, which saves
 * subnet addresses (a p5.48xlarge has 32 cards). The primary interface is device 0 of card 0, the others are device 1.
 */
export function networkInterfaces(input: InterfacesInput): NetworkInterfaceRequest[] {
  const { instanceType, nodes, subnetId, securityGroupIds } = input;
  const common = { SubnetId: subnetId, Groups: [...securityGroupIds], DeleteOnTermination: true };
  const cards = nodes > 1 ? efaCards(instanceType) : 0;
  if (cards === 0) return [{ ...common, DeviceIndex: 0, NetworkCardIndex: 0, InterfaceType: 'interface' }];
  return Array.from({ length: cards }, (_, card) => ({
    ...common,
    DeviceIndex: card === 0 ? 0 : 1,
    NetworkCardIndex: card,
    InterfaceType: card === 0 ? 'efa' : 'efa-only',
  }));
}
