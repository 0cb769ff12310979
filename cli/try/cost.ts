/** What the training would cost on Spot, as far as the catalog and the pace on this machine say. Pure. */
import { ec2OnDemandUsd, ec2SpotUsd, snapshotDates, zonesOfRegion } from '@tidewheel/catalog/catalog.ts';
import type { Phase } from './phase.ts';

export interface Cost {
  readonly instanceType: string;
  readonly region: string;
  /** USD an instance hour: the cheapest zone of the catalog; undefined where it knows none. */
  readonly spotUsd: number | undefined;
  readonly onDemandUsd: number | undefined;
  /** When the prices were read. */
  readonly pricesOf: string;
  /** Of the whole training at the pace of this machine; undefined where the script names no total. */
  readonly hoursHere: number | undefined;
}

export function tryCost(instanceType: string, region: string, first: Phase | undefined): Cost {
  const spot = zonesOfRegion(region).flatMap((zoneId) => ec2SpotUsd(instanceType, region, zoneId) ?? []);
  return {
    instanceType,
    region,
    spotUsd: spot.length === 0 ? undefined : Math.min(...spot),
    onDemandUsd: ec2OnDemandUsd(instanceType, region),
    pricesOf: snapshotDates.ec2,
    hoursHere: hoursOf(first),
  };
}

/** Start-up counts as training here, so it is too long rather than too short. */
function hoursOf(first: Phase | undefined): number | undefined {
  const note = first?.after;
  if (first === undefined || note === undefined || note.totalSteps <= 0 || note.step <= 0) return undefined;
  return (first.seconds * (note.totalSteps / note.step)) / 3_600;
}
