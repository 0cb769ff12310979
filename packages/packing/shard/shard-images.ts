/**
 * Prepares the images of one shard. A shard may be built more than once, because its layout or its count is fixed and a
 * sample turned out unfit. PreparedImages keeps results so that the next build decodes an image again only if it must.
 */

import { hash } from 'node:crypto';
import type { ImageSettings } from '@tidewheel/declaration/packing-settings.ts';
import { ConfigurationError } from '@tidewheel/kit/errors.ts';
import { type BlobStore, joinChunks } from '../documents/blob-store.ts';
import type { MediaFacts, PlannedMember } from '../documents/documents.ts';
import { type ImageEngine, LARGEST_SOURCE_BYTES } from '../documents/image-preparation.ts';
import type { Exclusion, Rejection } from '../documents/rejections.ts';
import type { MemberLayout, SampleLayout } from '../documents/sample-layout.ts';
import { hasFixedLayout, type ShardFormat } from '../documents/shard-format.ts';
import { excludeFor, RebuildError } from './check-sample.ts';
import { FetchWindow, type WindowLimits } from './fetch-window.ts';
import type { ReadBuffers } from './read-buffers.ts';
import { readPieces } from './read-spans.ts';

interface PreparedMember {
  readonly kind: 'prepared';
  readonly size: number;
  /** The object that the image was made of. */
  readonly source: { readonly size: number; readonly sha256: string };
  readonly media: MediaFacts;
}
export interface PreparedBytes extends PreparedMember {
  readonly bytes: Uint8Array;
}
export const NO_IMAGES: ReadonlyMap<PlannedMember, PreparedBytes> = new Map();
export type PreparationOutcome = PreparedMember | { readonly kind: 'rejected'; readonly reason: Rejection };

/** Prepared bytes that are held for another build of the same shard. */
const MOST_BYTES_HELD = 256e6;

export class PreparedImages {
  readonly #engine: ImageEngine;
  readonly #settings: ImageSettings;
  readonly #holds: boolean;
  readonly #isMask: (member: PlannedMember) => boolean;
  readonly #outcomes = new Map<string, PreparationOutcome>();
  readonly #bytes = new Map<string, Uint8Array>();
  #held = 0;

  /** @param holds true if the shard may have to be built again */
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

  /** Undefined for an image that was not decoded yet. */
  outcomeOf({ key }: PlannedMember): PreparationOutcome | undefined {
    return this.#outcomes.get(key);
  }

  /** Undefined if the prepared bytes are not held. */
  heldBytesOf({ key }: PlannedMember): Uint8Array | undefined {
    return this.#bytes.get(key);
  }

  /** @param chunks the whole object; ignored if its prepared bytes are held */
  async prepare(
    member: PlannedMember,
    chunks: readonly Uint8Array[],
  ): Promise<PreparedBytes | Extract<PreparationOutcome, { kind: 'rejected' }>> {
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
    const { bytes, media } = prepared;
    if (before !== undefined && before.size !== bytes.length)
      throw new Error(`${this.#engine.build} prepared ${key} twice, with different results`);
    const outcome: PreparedMember = {
      kind: 'prepared',
      size: bytes.length,
      source: { size, sha256: hash('sha256', source) },
      media,
    };
    this.#outcomes.set(key, outcome);
    this.#hold(key, bytes);
    return { ...outcome, bytes };
  }

  #hold(key: string, bytes: Uint8Array): void {
    if (!this.#holds || this.#held + bytes.length > MOST_BYTES_HELD) return;
    this.#bytes.set(key, bytes);
    this.#held += bytes.length;
  }
}

/** The engine that the plan was made for. @throws ConfigurationError if this stack has another one or none */
export function engineFor(wanted: string, engine: ImageEngine | undefined): ImageEngine {
  if (engine === undefined) {
    throw new ConfigurationError(
      `packing.prepare needs ${wanted}, and this stack was deployed without it: deploy with --param="images=yes" (docs/deploy.md)`,
    );
  }
  if (engine.name === wanted) return engine;
  throw new ConfigurationError(
    `the plan of this run prepares images with ${wanted}, but this stack has ${engine.name}, which may give other bytes: deploy the version that made the plan, or start a new run`,
  );
}

/** Members to be prepared, in the sample's order. */
export const preparedOf = ({ members }: SampleLayout): readonly PlannedMember[] =>
  members.flatMap((part) => (part.kind === 'source' && part.prepares ? [part.member] : []));

/**
 * Excludes a sample of which an image is known to be bad. Otherwise gives its images their prepared sizes, 0 if
 * unknown.
 */
export function checkPrepared(
  layout: SampleLayout,
  outcomeOf: (member: PlannedMember) => PreparationOutcome | undefined,
): { readonly exclusion: Exclusion } | { readonly layout: SampleLayout } {
  for (const member of preparedOf(layout)) {
    const outcome: PreparationOutcome | undefined =
      member.size > LARGEST_SOURCE_BYTES ? { kind: 'rejected', reason: 'tooLarge' } : outcomeOf(member);
    if (outcome?.kind === 'rejected') return { exclusion: excludeFor(layout.sample, member, outcome.reason) };
  }
  const sized = (part: MemberLayout): MemberLayout => {
    if (part.kind !== 'source' || !part.prepares) return part;
    const outcome = outcomeOf(part.member);
    return { ...part, size: outcome?.kind === 'prepared' ? outcome.size : 0 };
  };
  const { members } = layout;
  const prepares = members.some((part) => part.kind === 'source' && part.prepares);
  return { layout: prepares ? { ...layout, members: members.map(sized) } : layout };
}

/** The images of a sample, ready to be written, or the exclusion of the sample because of one of them. */
export async function prepareImages(
  layout: SampleLayout,
  chunksOf: (member: PlannedMember) => readonly Uint8Array[],
  {
    preparations,
    format,
  }: { readonly preparations?: PreparedImages | undefined; readonly format: ShardFormat },
): Promise<
  { readonly images: ReadonlyMap<PlannedMember, PreparedBytes> } | { readonly exclusion: Exclusion }
> {
  if (preparations === undefined) return { images: NO_IMAGES };
  const images = new Map<PlannedMember, PreparedBytes>();
  for (const member of preparedOf(layout)) {
    const wasKnown = preparations.outcomeOf(member) !== undefined;
    const prepared = await preparations.prepare(member, chunksOf(member));
    if (prepared.kind === 'rejected')
      return { exclusion: excludeFor(layout.sample, member, prepared.reason) };
    // The layout was written with another size. The next build knows this one.
    if (!wasKnown && hasFixedLayout(format)) throw new RebuildError([]);
    images.set(member, prepared);
  }
  return { images };
}

export interface ImageReads {
  readonly store: BlobStore;
  readonly window: WindowLimits;
  readonly readBuffers: ReadBuffers;
}

/**
 * Prepares all images before a shard of a fixed layout is begun, because the layout holds their sizes. The build itself
 * finds what changed or vanished. An object that is too large to be prepared is never read.
 */
export async function measureImages(
  { store, window: limits, readBuffers }: ImageReads,
  samples: readonly SampleLayout[],
  preparations: PreparedImages,
): Promise<void> {
  const members: PlannedMember[] = [];
  for (const layout of samples)
    for (const member of preparedOf(layout))
      if (layout.sample.repeat === 0 && member.size <= LARGEST_SOURCE_BYTES) members.push(member);
  const window = new FetchWindow(store, members, limits, readBuffers);
  try {
    for (const member of members) {
      const chunks: Uint8Array[] = [];
      let isWhole = true;
      for (const _ of readPieces(member, limits.pieceBytes)) {
        const piece = await window.next();
        if (piece.kind === 'found') chunks.push(...piece.chunks);
        else isWhole = false;
      }
      if (isWhole) await preparations.prepare(member, chunks);
      window.release();
    }
  } finally {
    await window.close();
  }
}
