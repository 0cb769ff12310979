/** A round over things of many owners: none of them holds up the others, whatever its owner has made of it. */
import { messageOf } from './errors.ts';
import { eachLimited } from './limited.ts';

export interface Round {
  readonly now: Date;
  /** Takes what failed, by name. The next round tries again. */
  readonly failures: string[];
  /** Items at once: a slow one keeps its own lane. */
  readonly lanes?: number;
  /** Rejects when the work takes too long. Absent: no limit. */
  readonly withinLimit?: ((work: Promise<unknown>) => Promise<unknown>) | undefined;
  /** The rest waits for the next round. */
  readonly isTimeUp?: () => boolean;
}

export async function eachItem<T>(
  items: readonly T[],
  name: (item: T) => string,
  act: (item: T) => Promise<unknown>,
  { now, failures, lanes = 1, withinLimit = (work) => work, isTimeUp = () => false }: Round,
): Promise<void> {
  await eachLimited(turned(items, now), lanes, async (item) => {
    if (isTimeUp()) return;
    try {
      await withinLimit(act(item));
    } catch (error: unknown) {
      failures.push(`${name(item)}: ${messageOf(error)}`);
    }
  });
}

/** Irrational: rounds at any interval begin everywhere, however many items there are. */
const SHARE = Math.SQRT2 - 1;

/** Which item comes first changes with the minutes, so that slow ones, however many, are not always before the same. */
function turned<T>(items: readonly T[], now: Date): T[] {
  const first = Math.floor(((Math.floor(now.getTime() / 60_000) * SHARE) % 1) * items.length);
  return [...items.slice(first), ...items.slice(0, first)];
}
