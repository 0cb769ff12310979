/** How the local SageMaker (and the EC2 launcher's stand-in) gets capacity from the local Spot market, and loses it again. */

export interface CapacityRequest {
  /** Job name or instance-fleet id, for the log. */
  readonly owner: string;
  /** Everything of one gang: all or nothing, in one zone. EC2 names without `ml.`. */
  readonly groups: readonly { readonly instanceType: string; readonly count: number }[];
  /** Zone ids allowed; undefined means any. */
  readonly zoneIds?: readonly string[] | undefined;
  readonly purchaseOption: 'spot' | 'on-demand';
  /** Into which it is launched; EC2's hosts are known by the launch template of their owner. */
  readonly reservation?: string | undefined;
  /** Of EC2, whose instances each have a lease of their own. */
  readonly instanceId?: string;
}

export interface CapacityLease {
  readonly zoneId: string;
  /** At most one call of the listener. graceSeconds is the warning before the kill. Never called for On-Demand. */
  onReclaim(
    listener: (notice: { readonly graceSeconds: number; readonly isReservationOver?: true }) => void,
  ): void;
  /** Tells the market that the owner's checkpoint reached S3 (some market scripts reclaim after that). */
  checkpointSynced(): void;
  /** Gives the capacity back; idempotent. */
  release(): void;
}

export interface CapacityMarket {
  /** undefined when there is none now. */
  acquire(request: CapacityRequest): CapacityLease | undefined;
  /** Calls back whenever capacity may have come; returns the unsubscribe function. */
  onCapacity(listener: () => void): () => void;
}
