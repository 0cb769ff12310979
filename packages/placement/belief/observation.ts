import type { Pool } from '../records/placement-records.ts';

/** An observation of a pool's capacity at one time. */
export interface Observation {
  readonly atMilliseconds: number;
  readonly instanceType: string;
  readonly zoneId?: string | undefined;
  readonly purchaseOption: Pool['purchaseOption'];
  /** As in Pool. */
  readonly region?: string | undefined;
  readonly launcher: Pool['launcher'];
  /** Refused because of a quota, not for lack of capacity. */
  readonly quota?: true | undefined;
  /** lost: an attempt had capacity and lost it; capacityError: an attempt got none. */
  readonly seen: 'up' | 'lost' | 'capacityError';
  /** The placement score at the request, on an attempt's first observation. */
  readonly score?: number | undefined;
  /** On an attempt's last observation: since when it had capacity. Absent if it never had any. */
  readonly heldSinceMilliseconds?: number | undefined;
}
