/** What hosts on EC2 cannot do that SageMaker can: such pools are left out, each with its reason. */
import type { LauncherName } from '../../catalog/launchers.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import type { OnDemandPrice } from '../model/market-source.ts';
import type { GangTopology } from './topologies.ts';

export interface OnEc2Question {
  readonly launcher: LauncherName;
  readonly compute: Pipeline['compute'];
  readonly training?: Pipeline['training'] | undefined;
  readonly topology: GangTopology;
  /** Absent in the data's own region. */
  readonly region?: string | undefined;
  readonly price: OnDemandPrice | undefined;
}

/** undefined: nothing is in the way, or it is SageMaker that would launch. */
export function whyNotOnEc2(question: OnEc2Question): string | undefined {
  const { launcher, compute, training, topology, region, price } = question;
  if (launcher !== 'ec2') return undefined;
  if (region !== undefined) return 'hosts on EC2 run in the region of the data bucket only';
  if (compute.helpers !== undefined || topology.helpers !== undefined)
    return 'one fleet of EC2 has one instance type: helper groups are a matter of SageMaker';
  if (price !== undefined && (price.ec2HourlyUsd ?? 0) <= 0)
    return `no EC2 price of ${topology.instanceType} is known, so its cost cannot be weighed`;
  // A pipeline that names EC2 alone is told so by its launch, with all its other problems.
  return compute.launcher === 'cheapest' && training ? againstTraining(training) : undefined;
}

function againstTraining({ channels = {}, image, inputMode }: Pipeline['training']): string | undefined {
  const mounted = Object.entries(channels).find(([, channel]) => !('s3' in channel))?.[0];
  if (mounted !== undefined)
    return `hosts on EC2 mount no file systems, and training.channels.${mounted} is one`;
  if (inputMode === 'Pipe')
    return 'hosts on EC2 download their shards: training.inputMode Pipe is SageMaker’s';
  return image === undefined
    ? undefined
    : 'hosts on EC2 run compute.ec2.image, not the container that training.image names';
}
