/** Counts the arrivals that a later generation packs, by reason and with examples. */
import type { LeftArrivals } from '../model/manifest.ts';
import type { Deferral, Rejection } from '../model/rejections.ts';

const MOST_EXAMPLES = 100;

interface Left {
  readonly key: string;
  readonly reason: Deferral | Rejection;
  readonly code?: string | undefined;
  /** Seconds since 1970; only of one that waits for other objects. */
  readonly since?: number | undefined;
}

const isoOf = (seconds: number): string => new Date(seconds * 1_000).toISOString();

export class LeftTally {
  readonly #byReason: Record<string, number> = {};
  readonly #byCode: Record<string, number> = {};
  readonly #examples: LeftArrivals['examples'] = [];
  #since: number | undefined;
  count = 0;

  add({ key, reason, code, since }: Left): undefined {
    this.count += 1;
    this.#byReason[reason] = (this.#byReason[reason] ?? 0) + 1;
    if (code !== undefined) this.#byCode[code] = (this.#byCode[code] ?? 0) + 1;
    if (since !== undefined) this.#since = Math.min(since, this.#since ?? since);
    if (this.#examples.length >= MOST_EXAMPLES) return;
    this.#examples.push({
      key,
      reason,
      ...(code !== undefined && { code }),
      ...(since !== undefined && { since: isoOf(since) }),
    });
  }

  /** For the manifest; empty if nothing was left. */
  found(): { readonly left?: LeftArrivals } {
    if (this.count === 0) return {};
    return {
      left: {
        byReason: this.#byReason,
        ...(Object.keys(this.#byCode).length > 0 && { byCode: this.#byCode }),
        ...(this.#since !== undefined && { since: isoOf(this.#since) }),
        examples: this.#examples,
      },
    };
  }
}
