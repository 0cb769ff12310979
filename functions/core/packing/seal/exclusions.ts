/**
 * All planned samples that are in no shard. Each takes one byte here: as objects, two million rejected files would take
 * 600 MB.
 */
import { MultisetHash } from '../model/multiset-hash.ts';
import type { Exclusion } from '../model/rejections.ts';

type Member = Exclusion['members'][number];
type Cause = Pick<Member, 'reason' | 'code'>;

/** Why one sample is in no shard. */
export interface Excluded {
  readonly outcome: Exclusion['outcome'];
  causeOf(key: string): Cause | undefined;
}

const NONE = 0;
/** The members have different causes, which are held one by one. */
const MIXED = 255;

export class Exclusions {
  /** By sample: the number of its shared outcome and reason, counted from 1. */
  readonly #kinds: Uint8Array;
  readonly #shared: Excluded[] = [];
  readonly #numbers = new Map<string, number>();
  readonly #mixed = new Map<number, Excluded>();
  /** Keys of rejected members, as a sum, because shared reasons do not hold the keys. */
  readonly rejected = new MultisetHash();
  /** Numbers of unreadable members by the store's error code. */
  readonly unreadable = new Map<string, number>();

  /** @param samples number of the plan's samples */
  constructor(samples: number) {
    this.#kinds = new Uint8Array(samples);
  }

  add({ sample, outcome, members }: Exclusion): void {
    if (outcome === 'rejected') for (const { key } of members) this.rejected.add(key, '');
    for (const { code } of members)
      if (code !== undefined) this.unreadable.set(code, (this.unreadable.get(code) ?? 0) + 1);
    const [first] = members;
    const isShared = members.every(({ reason, code }) => reason === first?.reason && code === first.code);
    const number = isShared ? this.#numberOf(outcome, first) : MIXED;
    this.#kinds[sample] = number;
    if (number !== MIXED) return;
    const causes = new Map(members.map((member) => [member.key, member]));
    this.#mixed.set(sample, { outcome, causeOf: (key) => causes.get(key) });
  }

  of(sample: number): Excluded | undefined {
    const number = this.#kinds[sample] ?? NONE;
    if (number === NONE) return undefined;
    return number === MIXED ? this.#mixed.get(sample) : this.#shared[number - 1];
  }

  /** MIXED if there are too many. */
  #numberOf(outcome: Exclusion['outcome'], cause: Cause | undefined): number {
    const name = `${outcome} ${cause?.reason ?? ''} ${cause?.code ?? ''}`;
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    if (this.#shared.length + 1 === MIXED) return MIXED;
    this.#shared.push({ outcome, causeOf: () => cause });
    this.#numbers.set(name, this.#shared.length);
    return this.#shared.length;
  }
}
