/** A campaign to be played: a job, a deadline and one pool, and what the simulator makes of the same. */
import { ec2OnDemandUsd, ec2SpotUsd, trainingPrice } from '../../functions/core/catalog/catalog.ts';
import { REGION } from '../../local/region/aws.ts';
import { tidewheel } from '../sim/tidewheel.ts';
import { type Outcome, type Setting, simulate } from '../sim/world.ts';

/** One node of one type in one zone, on Spot or On-Demand. */
export interface Campaign {
  /** Of its pipeline. */
  readonly name: string;
  readonly instanceType: string;
  readonly zoneId: string;
  /** One entry a tick from the drop on: whether the zone has Spot capacity. */
  readonly available: readonly boolean[];
  readonly tickSeconds: number;
  readonly workSeconds: number;
  readonly deadlineHours: number;
  /** From the start of billing to the first step. */
  readonly startSeconds: number;
}

/** Campaigns side by side must not share a family or a zone, or each would learn from the others. */
export const POOLS = [
  { instanceType: 'g4dn.xlarge', zoneId: 'use1-az1' },
  { instanceType: 'p3.2xlarge', zoneId: 'use1-az6' },
  { instanceType: 'g5.xlarge', zoneId: 'use1-az2' },
  { instanceType: 'g6.xlarge', zoneId: 'use1-az4' },
] as const;

/** As SageMaker bills: its own On-Demand price, and of that the share that EC2's Spot is of EC2's On-Demand. */
export function settingOf(campaign: Campaign): Setting {
  const { instanceType, zoneId } = campaign;
  const onDemandUsd = trainingPrice(instanceType, REGION)?.hourlyUsd;
  const ec2Usd = ec2OnDemandUsd(instanceType, REGION);
  const spotUsd = ec2SpotUsd(instanceType, REGION, zoneId);
  if (onDemandUsd === undefined || ec2Usd === undefined || spotUsd === undefined)
    throw new Error(`the catalog has no price for ${instanceType} in ${zoneId}`);
  return {
    tickSeconds: campaign.tickSeconds,
    workSeconds: campaign.workSeconds,
    deadlineSeconds: campaign.deadlineHours * 3_600,
    restartSeconds: campaign.startSeconds,
    spotUsd: [(onDemandUsd * spotUsd) / ec2Usd],
    onDemandUsd,
  };
}

/** The simulator's word: the policy's controller, which sees at every tick whether the zone has capacity. */
export const simulated = (campaign: Campaign): Outcome =>
  simulate(tidewheel(), settingOf(campaign), [campaign.available]);
