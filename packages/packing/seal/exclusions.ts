/**
 * All planned samples that are in no shard. Each takes one byte here: as objects, two million rejected files would take
 * 600 MB.
 */

import { shareOf } from '@tidewheel/declaration/packing-settings.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { UnreadableArrivalsError } from '@tidewheel/kit/errors.ts';
import type { Plan } from '../documents/documents.ts';
import { MultisetHash } from '../documents/multiset-hash.ts';
import type { Exclusion } from '../documents/rejections.ts';

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

/** Below this number, unreadable objects are files with a fault of their own. */
const ALWAYS_ALLOWED = 10;

/** Objects that came otherwise than S3 keeps them. */
const ALTERED: ReadonlySet<string> = new Set(['ChecksumMismatch', 'BadDigest', 'OtherLength', 'OtherRange']);

/**
 * Tells a role that may not read from a few files that cannot be read.
 * @throws UnreadableArrivalsError if more objects are unreadable than may be left, or all of several
 */
export function checkReadable(
  { objects, rejected, pipeline }: Pick<Plan, 'objects' | 'rejected' | 'pipeline'>,
  unreadable: ReadonlyMap<string, number>,
  { mayReject }: Pick<PackingSettings, 'mayReject'>,
): void {
  const count = [...unreadable.values()].reduce((sum, one) => sum + one, 0);
  const allowed = Math.max(ALWAYS_ALLOWED, Math.floor(shareOf(mayReject) * objects));
  const isAll = count > 1 && count === objects - rejected;
  if (count <= allowed && !isAll) return;
  const codes = [...unreadable].map(([code, times]) => `${times} ${code}`).join(', ');
  const cause = [...unreadable.keys()].every((code) => ALTERED.has(code))
    ? 'what lies between the service and the bucket, such as a proxy: it alters what it passes on. Correct it'
    : 'what the service may read. Let its role read the bucket and use its KMS key';
  throw new UnreadableArrivalsError(
    `${count} of ${objects} new objects of ${pipeline} could not be read (${codes}), which is more than ` +
      `tuning.packing.mayReject allows (${mayReject}, and always ${ALWAYS_ALLOWED}): so not single files are at fault, but ` +
      `${cause}, then start a run, which packs the same objects`,
  );
}
