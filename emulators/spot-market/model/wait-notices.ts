/** Says that a job waits for capacity, once for each wait, and when the market changes next. */
import type { CapacityPlan } from './capacity-plan.ts';
import type { MarketTime } from './market-time.ts';

interface WaitNotices {
  begin(owner: string, counts: ReadonlyMap<string, number>, zoneIds: readonly string[]): void;
  /** The owner has its capacity. */
  end(owner: string): void;
}

export function waitNotices(deps: {
  readonly plan: CapacityPlan;
  readonly time: MarketTime;
  readonly log: (line: string) => void;
  readonly notice?: (line: string) => void;
}): WaitNotices {
  const { plan, time } = deps;
  const waiting = new Set<string>();

  const nextChange = (counts: ReadonlyMap<string, number>, zoneIds: readonly string[]): string => {
    const now = time.now();
    const types = [...counts.keys()];
    const changes = zoneIds.flatMap((zoneId) =>
      types.flatMap((instanceType) => plan.nextChange({ instanceType, zoneId }, now) ?? []),
    );
    if (changes.length === 0) return 'the market script brings none';
    const milliseconds = time.wallMs(Math.min(...changes)) - time.wallMs(now);
    return `the market changes in ${Math.ceil(milliseconds / 1_000)} s`;
  };

  return {
    begin: (owner, counts, zoneIds) => {
      if (waiting.has(owner)) return;
      waiting.add(owner);
      const where = zoneIds.join(', ') || 'any zone';
      const line = `${owner} waits: no Spot capacity for ${inWords(counts)} in ${where}; ${nextChange(counts, zoneIds)}`;
      deps.log(line);
      deps.notice?.(line);
    },
    end: (owner) => void waiting.delete(owner),
  };
}

/** Such as `2 x c5.xlarge`. */
export const inWords = (counts: ReadonlyMap<string, number>): string =>
  [...counts].map(([instanceType, count]) => `${count} x ${instanceType}`).join(', ');
