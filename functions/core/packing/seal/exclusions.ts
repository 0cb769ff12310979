/**
 * All planned samples that are in no shard. Each takes one byte here: as objects, two million rejected files would take
 * 600 MB.
 */
import { MultisetHash } from '../model/multiset-hash.ts';
import type { Exclusion } from '../model/rejections.ts';

type Reason = Exclusion['members'][number]['reason'];

/** Why one sample is in no shard. */
export interface Excluded {
  readonly outcome: Exclusion['outcome'];
  reasonOf(key: string): Reason | undefined;
}

const NONE = 0;
/** The members have different reasons, which are held one by one. */
const MIXED = 255;

export class Exclusions {
  /** By sample: the number of its shared outcome and reason, counted from 1. */
  readonly #kinds: Uint8Array;
  readonly #shared: Excluded[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #mixed = new Map<number, Excluded>();
  /** Keys of rejected members, as a sum, because shared reasons do not hold the keys. */
  readonly rejected = new MultisetHash();

  /** @param samples number of the plan's samples */
  constructor(samples: number) {
    this.#kinds = new Uint8Array(samples);
  }

  add({ sample, outcome, members }: Exclusion): void {
    if (outcome === 'rejected') for (const { key } of members) this.rejected.add(key, '');
    const reason = members[0]?.reason;
    const isShared = members.every((member) => member.reason === reason);
    const number = isShared ? this.#numberOf(outcome, reason) : MIXED;
    this.#kinds[sample] = number;
    if (number !== MIXED) return;
    const reasons = new Map(members.map((member) => [member.key, member.reason]));
    this.#mixed.set(sample, { outcome, reasonOf: (key) => reasons.get(key) });
  }

  of(sample: number): Excluded | undefined {
    const number = this.#kinds[sample] ?? NONE;
    if (number === NONE) return undefined;
    return number === MIXED ? this.#mixed.get(sample) : this.#shared[number - 1];
  }

  #numberOf(outcome: Exclusion['outcome'], reason: Reason | undefined): number {
    const name = `${outcome} ${reason ?? ''}`;
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.#shared.push({ outcome, reasonOf: () => reason });
    this.#numbers.set(name, this.#shared.length);
    return this.#shared.length;
  }
}
