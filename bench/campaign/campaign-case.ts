/** A campaign to be played: a job, a deadline and its pools, and what the simulator makes of the same. */

import { ec2OnDemandUsd, ec2SpotUsd, trainingPrice } from '@tidewheel/catalog/catalog.ts';
import { REGION } from '@tidewheel/emulators/region/clients.ts';
import type { Setting } from '../../test/support/market/job.ts';
import { drawTraces, TICK_SECONDS, type Trace } from '../../test/support/market/traces.ts';
import { tidewheel } from '../sim/tidewheel.ts';
import { type Outcome, simulate } from '../sim/world.ts';

/** A zone that the campaign may use. */
export interface CampaignZone {
  readonly zoneId: string;
  /** From the drop on. */
  readonly available: Trace;
}

/** One node of one type in one of these zones, on Spot or On-Demand. */
export interface Campaign {
  /** Of its pipeline. */
  readonly name: string;
  readonly instanceType: string;
  readonly zones: readonly CampaignZone[];
  readonly tickSeconds: number;
  readonly workSeconds: number;
  readonly deadlineHours: number;
  /** From the start of billing to the first step. */
  readonly startSeconds: number;
  /** One instance of the type, in the first zone. A Capacity Block is used by hosts on EC2. Default: nothing is reserved. */
  readonly reserved?: { readonly id: string; readonly fromHours: number; readonly untilHours: number };
}

/** Where a campaign is played. */
export interface Pools {
  readonly instanceType: string;
  readonly zoneIds: readonly string[];
}

/** Campaigns side by side must not share a family or a zone, or each would learn from the others. */
export const POOLS: readonly Pools[] = [
  { instanceType: 'g4dn.xlarge', zoneIds: ['use1-az1'] },
  { instanceType: 'p3.2xlarge', zoneIds: ['use1-az6'] },
  { instanceType: 'g5.xlarge', zoneIds: ['use1-az2'] },
  { instanceType: 'g6.xlarge', zoneIds: ['use1-az4'] },
];

/** The type whose zones differ most in price, the cheapest first: 0.52 to 0.77 USD. */
export const SEVERAL_ZONES: Pools = {
  instanceType: 'p3.2xlarge',
  zoneIds: ['use1-az1', 'use1-az6', 'use1-az5', 'use1-az2'],
};

/** What is played: pools are chosen for it when it is known what else is played beside it. */
export interface CampaignCase extends Omit<Campaign, 'instanceType' | 'zones'> {
  /** Of each zone. */
  readonly traces: readonly Trace[];
}

interface Job {
  readonly workHours: number;
  readonly deadlineHours: number;
  readonly startSeconds: number;
}

/** Its traces are drawn from the fitted chain by the seed. */
export function drawnCase(seed: number, job: Job, zones = 1): CampaignCase {
  const { workHours, deadlineHours, startSeconds } = job;
  const ticks = Math.ceil((deadlineHours * 3_600) / TICK_SECONDS) + 1;
  return {
    name: `seed-${seed}`,
    workSeconds: workHours * 3_600,
    deadlineHours,
    startSeconds,
    traces: drawTraces(seed, zones, ticks),
    tickSeconds: TICK_SECONDS,
  };
}

export function campaignIn({ traces, ...rest }: CampaignCase, { instanceType, zoneIds }: Pools): Campaign {
  const zones = traces.map((available, k) => ({ zoneId: zoneIds[k] ?? '', available }));
  return { ...rest, instanceType, zones };
}

/** As SageMaker bills: its own On-Demand price, and of that the share that EC2's Spot is of EC2's On-Demand. */
function settingOf(campaign: Campaign): Setting {
  const { instanceType } = campaign;
  const onDemandUsd = trainingPrice(instanceType, REGION)?.hourlyUsd;
  const ec2Usd = ec2OnDemandUsd(instanceType, REGION);
  if (onDemandUsd === undefined || ec2Usd === undefined)
    throw new Error(`the catalog has no price for ${instanceType}`);
  const spotUsdIn = (zoneId: string): number => {
    const spotUsd = ec2SpotUsd(instanceType, REGION, zoneId);
    if (spotUsd === undefined) throw new Error(`the catalog has no price for ${instanceType} in ${zoneId}`);
    return (onDemandUsd * spotUsd) / ec2Usd;
  };
  return {
    tickSeconds: campaign.tickSeconds,
    workSeconds: campaign.workSeconds,
    deadlineSeconds: campaign.deadlineHours * 3_600,
    restartSeconds: campaign.startSeconds,
    spotUsd: campaign.zones.map(({ zoneId }) => spotUsdIn(zoneId)),
    onDemandUsd,
  };
}

/** The simulator's word: the policy's controller, which sees at every tick which zones have capacity. */
export const simulated = (campaign: Campaign): Outcome =>
  simulate(
    tidewheel(),
    settingOf(campaign),
    campaign.zones.map(({ available }) => available),
  );
