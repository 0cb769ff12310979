import type { Pool } from '../../runs/run-records.ts';

/** Something seen of capacity at a time. */
export interface Observation {
  readonly atMilliseconds: number;
  readonly instanceType: string;
  readonly zoneId?: string | undefined;
  readonly purchaseOption: Pool['purchaseOption'];
  /** As in Pool. */
  readonly region?: string | undefined;
  readonly launcher: Pool['launcher'];
  /** Refused for an account's limit, not for want of capacity. */
  readonly quota?: true | undefined;
  /** lost: we had it and it was taken away; refused: we asked and were not given it. */
  readonly seen: 'up' | 'lost' | 'refused';
  /** The placement score under which it was asked, on the first sighting of an attempt. */
  readonly score?: number | undefined;
  /** On the last sighting of an attempt: since when it had had its capacity. Absent if it never had any. */
  readonly heldSinceMilliseconds?: number | undefined;
}
