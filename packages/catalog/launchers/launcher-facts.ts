/** What placement knows of a launcher before it asks anything of it: what it cannot do, what it bills, how long it starts. */

import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import type { Problem } from '@tidewheel/kit/errors.ts';
import type { FactsOf } from '../facts/catalog.ts';
import type { Download, DownloadQuestion } from './download.ts';

type PurchaseOption = 'spot' | 'on-demand';

/** Capacity that an account has paid for. */
export const RESERVATION_KINDS = ['capacity-reservation', 'capacity-block', 'training-plan'] as const;
export type ReservationKind = (typeof RESERVATION_KINDS)[number];

/** A gang that a launcher might start. */
interface FeasibilityQuestion {
  readonly compute: Pipeline['compute'];
  /** Absent: nothing is ruled out for the sake of the training. */
  readonly training?: Pipeline['training'] | undefined;
  readonly topology: {
    readonly instanceType: string;
    readonly nodes: number;
    /** Groups of CPU nodes that placement adds; the groups that the pipeline names stand in `compute`. */
    readonly helpers?: readonly unknown[] | undefined;
  };
  /** AWS's name of the region in which it would run. */
  readonly region: string;
  /** The region is another than the data bucket's. */
  readonly isElsewhere: boolean;
  /** How its nodes would be bought; absent: asked about the gang, whichever way. */
  readonly purchaseOption?: PurchaseOption | undefined;
  /** What the account's EC2 answered; default: the snapshot's. */
  readonly hardware?: FactsOf | undefined;
}

/** What AWS asks for one node in USD per hour, as far as it is known. */
export interface ListedPrices {
  readonly instanceType: string;
  /** SageMaker's training price on demand. */
  readonly trainingUsd: number;
  readonly trainingNote: string;
  /** EC2's price on demand. */
  readonly ec2Usd?: number | undefined;
  readonly ec2Note?: string | undefined;
  /** EC2's Spot price, over the zones in question. */
  readonly ec2SpotUsd?: number | undefined;
  /** The Spot price is the catalog's snapshot, not AWS's answer of now. */
  readonly isSpotOfSnapshot: boolean;
}

/** What one node costs in USD per hour. */
export interface NodePrices {
  readonly hourlyUsd: number;
  /** The same node on demand. */
  readonly onDemandHourlyUsd: number;
  /** How the price is known, for the verdict. */
  readonly priceNote: string;
}

export interface LauncherFacts {
  /** As sentences name it. */
  readonly serviceName: string;
  /**
   * From the start of billing to the first new progress without the download of shards, until attempts of the run have
   * measured it; a stated prior.
   */
  readonly restartSeconds: number;
  /** What its gangs can be launched into. */
  readonly reservations: readonly ReservationKind[];
  /** @returns why the launcher cannot start the gang; undefined when it can */
  infeasible(question: FeasibilityQuestion): string | undefined;
  /** Whether compute.volumeGigabytes changes the disk of the type. */
  hasVolume(instanceType: string): boolean;
  /** @returns what a host fetches before its script starts, or why its disk does not hold it */
  downloads(question: DownloadQuestion): Download | { readonly problem: Problem };
  /** @returns the prices of a node, or why none is known */
  bills(listed: ListedPrices, purchaseOption: PurchaseOption): NodePrices | { readonly unknown: string };
}

/** Where no Spot price is known, this share of On-Demand is taken: about the middle of the snapshot's G and P families. */
export const ASSUMED_SPOT_SHARE = 0.45;
export const ASSUMED_SPOT_NOTE = `no Spot price known, ${ASSUMED_SPOT_SHARE * 100} % of On-Demand assumed`;
