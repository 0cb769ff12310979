/**
 * What became of the images of one shard. A shard may be built more than once (its layout or its count is fixed and a
 * sample turned out unfit): what was decoded is then not decoded again, as far as it may be held.
 */
import { hash } from 'node:crypto';
import type { ImageSettings } from '../../pipeline/packing-parts.ts';
import { ConfigurationError } from '../../shared/errors.ts';
import { joinChunks } from '../model/blob-store.ts';
import type { PlannedMember } from '../model/documents.ts';
import { type ImageEngine, LARGEST_SOURCE_BYTES } from '../model/image-preparation.ts';
import type { Exclusion, Rejection } from '../model/rejections.ts';
import type { LaidOut, LaidSample } from '../model/sample-layout.ts';
import { excludeFor } from './judge-sample.ts';

interface PreparedMember {
  readonly kind: 'prepared';
  readonly size: number;
  readonly source: { readonly size: number; readonly sha256: string };
}
/** Prepared bytes, and what they were made of. */
export interface Ready extends PreparedMember {
  readonly bytes: Uint8Array;
}
export const NO_IMAGES: ReadonlyMap<PlannedMember, Ready> = new Map();
export type Outcome = PreparedMember | { readonly kind: 'rejected'; readonly reason: Rejection };

/** Prepared bytes held for another build of the same shard. */
const MOST_BYTES_HELD = 256e6;

export class Preparations {
  readonly #engine: ImageEngine;
  readonly #settings: ImageSettings;
  readonly #holds: boolean;
  readonly #isMask: (member: PlannedMember) => boolean;
  readonly #outcomes = new Map<string, Outcome>();
  readonly #bytes = new Map<string, Uint8Array>();
  #held = 0;

  /** @param holds the shard may have to be built again */
  constructor(
    engine: ImageEngine,
    settings: ImageSettings,
    { holds, isMask }: { readonly holds: boolean; readonly isMask: (member: PlannedMember) => boolean },
  ) {
    this.#isMask = isMask;
    this.#engine = engine;
    this.#settings = settings;
    this.#holds = holds;
  }

  /** Undefined for one that was not decoded yet. */
  outcomeOf({ key }: PlannedMember): Outcome | undefined {
    return this.#outcomes.get(key);
  }

  /** The prepared bytes, while they are held. */
  heldBytesOf({ key }: PlannedMember): Uint8Array | undefined {
    return this.#bytes.get(key);
  }

  /** @param chunks the whole object; not looked at when its prepared bytes are held */
  async prepare(
    member: PlannedMember,
    chunks: readonly Uint8Array[],
  ): Promise<Ready | Extract<Outcome, { kind: 'rejected' }>> {
    const { key, size } = member;
    const held = this.#bytes.get(key);
    const before = this.#outcomes.get(key);
    if (before?.kind === 'rejected') return before;
    if (before !== undefined && held !== undefined) return { ...before, bytes: held };
    const source = joinChunks(chunks);
    const prepared = await this.#engine.prepare(
      source,
      this.#settings,
      this.#isMask(member) ? 'mask' : 'image',
    );
    if (prepared.kind === 'rejected') {
      this.#outcomes.set(key, prepared);
      return prepared;
    }
    const { bytes } = prepared;
    if (before !== undefined && before.size !== bytes.length)
      throw new Error(`${key} was prepared twice with different results: ${this.#engine.build} is at fault`);
    const outcome: PreparedMember = {
      kind: 'prepared',
      size: bytes.length,
      source: { size, sha256: hash('sha256', source) },
    };
    this.#outcomes.set(key, outcome);
    this.#hold(key, bytes);
    return { ...outcome, bytes };
  }

  /** All that the bytes depend on. */
  get build(): string {
    return this.#engine.build;
  }

  #hold(key: string, bytes: Uint8Array): void {
    if (!this.#holds || this.#held + bytes.length > MOST_BYTES_HELD) return;
    this.#bytes.set(key, bytes);
    this.#held += bytes.length;
  }
}

/** The engine that a plan was made for, or why it cannot be packed here. */
export function engineFor(wanted: string, engine: ImageEngine | undefined): ImageEngine {
  if (engine === undefined) {
    throw new ConfigurationError(
      `packing.prepare needs ${wanted}, and this stack was deployed without it: deploy with --param="images=yes" (docs/deploy.md)`,
    );
  }
  if (engine.name === wanted) return engine;
  throw new ConfigurationError(
    `the plan of this run prepares images with ${wanted}, and here is ${engine.name}, which may give other bytes: deploy the version that made the plan, or start a new run`,
  );
}

/** Members to be prepared, as the sample has them. */
export const preparedOf = ({ members }: LaidSample): readonly PlannedMember[] =>
  members.flatMap((part) => (part.kind === 'source' && part.prepares ? [part.member] : []));

/** Why the sample cannot be packed, by what is known of its images; else with their sizes, 0 where not yet known. */
export function judgePrepared(
  laid: LaidSample,
  outcomeOf: (member: PlannedMember) => Outcome | undefined,
): { readonly exclusion: Exclusion } | { readonly laid: LaidSample } {
  for (const member of preparedOf(laid)) {
    const outcome: Outcome | undefined =
      member.size > LARGEST_SOURCE_BYTES ? { kind: 'rejected', reason: 'tooLarge' } : outcomeOf(member);
    if (outcome?.kind === 'rejected') return { exclusion: excludeFor(laid.sample, member, outcome.reason) };
  }
  const sized = (part: LaidOut): LaidOut => {
    if (part.kind !== 'source' || !part.prepares) return part;
    const outcome = outcomeOf(part.member);
    return { ...part, size: outcome?.kind === 'prepared' ? outcome.size : 0 };
  };
  const { members } = laid;
  const prepares = members.some((part) => part.kind === 'source' && part.prepares);
  return { laid: prepares ? { ...laid, members: members.map(sized) } : laid };
}
