/** Hosts of the account's own on EC2: one instant fleet of one type in one zone, at EC2's prices. */

import { CHEAPEST } from '@tidewheel/declaration/launchers.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { hasPublicAddress } from '../facts/network-cards.ts';
import { hostDownload } from './disk.ts';
import { ASSUMED_SPOT_NOTE, ASSUMED_SPOT_SHARE, type LauncherFacts } from './launcher-facts.ts';

export const ec2Facts: LauncherFacts = {
  serviceName: 'EC2',
  // A host boots from an image that has the framework.
  restartSeconds: 180,
  reservations: ['capacity-reservation', 'capacity-block'],
  hasVolume: () => true,
  infeasible: ({ compute, training, topology, isElsewhere, hardware }) => {
    if (isElsewhere) return 'hosts on EC2 run in the region of the data bucket only';
    if (compute.helpers !== undefined || topology.helpers !== undefined)
      return 'one fleet of EC2 has one instance type: only SageMaker launches helper groups';
    const { instanceType, nodes } = topology;
    if (
      compute.ec2?.privateSubnets !== true &&
      !hasPublicAddress(instanceType, nodes, hardware?.(instanceType))
    )
      return unreachable(instanceType);
    // The launch tells a pipeline that names EC2 alone, with all its other problems.
    return compute.launcher === CHEAPEST && training ? unservedTraining(training) : undefined;
  },
  downloads: hostDownload,
  bills: ({ instanceType, ec2Usd = 0, ec2Note, ec2SpotUsd, isSpotOfSnapshot }, purchaseOption) => {
    if (ec2Usd <= 0)
      return { unknown: `no EC2 price of ${instanceType} is known, so its cost cannot be weighed` };
    if (purchaseOption === 'on-demand') {
      const priceNote = `EC2 On-Demand${ec2Note === undefined ? '' : `, ${ec2Note}`}`;
      return { hourlyUsd: ec2Usd, onDemandHourlyUsd: ec2Usd, priceNote };
    }
    return {
      hourlyUsd: ec2SpotUsd ?? ec2Usd * ASSUMED_SPOT_SHARE,
      onDemandHourlyUsd: ec2Usd,
      priceNote:
        ec2SpotUsd === undefined
          ? ASSUMED_SPOT_NOTE
          : `EC2's own Spot price${isSpotOfSnapshot ? ', of the snapshot' : ''}`,
    };
  },
};

const unreachable = (instanceType: string): string =>
  `a gang of ${instanceType} has several network interfaces a host, and EC2 gives such hosts no public address: name subnets with a NAT gateway or endpoints and set tuning.compute.ec2.privateSubnets: true`;

function unservedTraining({ channels = {}, image, inputMode }: Pipeline['training']): string | undefined {
  const mounted = Object.entries(channels).find(([, channel]) => !('s3' in channel))?.[0];
  if (mounted !== undefined)
    return `hosts on EC2 mount no file systems, and training.channels.${mounted} is one`;
  if (inputMode === 'Pipe')
    return 'hosts on EC2 download their shards: only SageMaker has training.inputMode Pipe';
  return image === undefined
    ? undefined
    : 'hosts on EC2 run compute.ec2.image, not the container that training.image names';
}
