/** The facts about a launcher for placement: copy this file to packages/catalog/launchers/<name>.ts. */

import { hostDownload } from '@tidewheel/catalog/data-on-hosts.ts';
import { ASSUMED_SPOT_NOTE, ASSUMED_SPOT_SHARE, type LauncherFacts } from '@tidewheel/catalog/launchers.ts';

export const jobQueue: LauncherFacts = {
  serviceName: 'the job queue',
  // Measure the time from RUNNING to the first new step. Placement uses it until the run's attempts have measured it.
  restartSeconds: 240,
  reservations: [],
  hasVolume: () => false,
  infeasible: ({ compute, topology, isElsewhere, purchaseOption }) => {
    if (isElsewhere) return 'a job queue runs in the region of the data bucket only';
    if (compute.helpers !== undefined || topology.helpers !== undefined)
      return 'a job queue has no groups of nodes for helpers';
    // https://docs.aws.amazon.com/batch/latest/userguide/mnp-ce.html
    return purchaseOption === 'spot' && topology.nodes > 1
      ? 'multi-node parallel jobs of AWS Batch do not run on Spot'
      : undefined;
  },
  downloads: hostDownload,
  // Batch adds nothing to EC2's price. A launcher with its own prices reads another field of ListedPrices.
  bills: ({ instanceType, ec2Usd = 0, ec2SpotUsd }, purchaseOption) => {
    if (ec2Usd <= 0) return { unknown: `no EC2 price of ${instanceType} is known` };
    if (purchaseOption === 'on-demand')
      return { hourlyUsd: ec2Usd, onDemandHourlyUsd: ec2Usd, priceNote: 'EC2 On-Demand' };
    return {
      hourlyUsd: ec2SpotUsd ?? ec2Usd * ASSUMED_SPOT_SHARE,
      onDemandHourlyUsd: ec2Usd,
      priceNote: ec2SpotUsd === undefined ? ASSUMED_SPOT_NOTE : "EC2's own Spot price",
    };
  },
};
