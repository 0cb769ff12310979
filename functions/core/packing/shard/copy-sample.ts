/** A sample of one large source that the store copies into the shard: its line, or why it is not in it. */

import type { BlobStore } from '../model/blob-store.ts';
import type { MemberLine, PlannedMember } from '../model/documents.ts';
import type { Exclusion } from '../model/rejections.ts';
import type { LaidSample } from '../model/sample-layout.ts';
import { type PlanFacts, type ShardFormat, Unfit } from '../model/shard-format.ts';
import { copySource } from './copy-source.ts';
import { excludeAll, judgeSample } from './judge-sample.ts';
import { lineOf } from './shard-members.ts';
import type { ShardUpload } from './shard-upload.ts';

export interface CopyHow {
  readonly store: BlobStore;
  readonly upload: ShardUpload;
  readonly copied: CopiedMember;
  readonly pieceBytes: number;
}

/** A source that the store copies into the shard. */
export interface CopiedMember {
  readonly member: PlannedMember;
  /** How many of its first bytes are left out; throws Unfit. */
  readonly copyFrom: (head: Buffer) => number;
}

export type CopiedSample =
  | { readonly kind: 'packed'; readonly line: MemberLine }
  | { readonly kind: 'out'; readonly exclusion: Exclusion };

/** The one member of a sample that is copied: it is larger than what is read at once, and lies in the shard as it is. */
export function copiedMember(
  { members: [part, ...others] }: LaidSample,
  { format, facts }: { readonly format: ShardFormat; readonly facts: PlanFacts },
  largerThan: number,
): CopiedMember | undefined {
  const copyFrom = format.takes === 'files' ? format.copyFrom : undefined;
  if (copyFrom === undefined || part?.kind !== 'source' || others.length > 0) return undefined;
  const { member } = part;
  return member.size > largerThan ? { member, copyFrom: (head) => copyFrom(head, facts) } : undefined;
}

export async function copySample(how: CopyHow, laid: LaidSample): Promise<CopiedSample> {
  const { store, upload, copied, pieceBytes } = how;
  try {
    const outcome = await copySource({ store, upload, ...copied, pieceBytes });
    if (outcome.kind === 'packed') return { kind: 'packed', line: lineOfCopy(laid, outcome.placed) };
    const exclusion = judgeSample(laid.sample, [outcome.read], () => false);
    if (exclusion === undefined) throw new Error(`${copied.member.key} was left out for no reason`);
    return { kind: 'out', exclusion };
  } catch (error: unknown) {
    if (!(error instanceof Unfit)) throw error;
    return { kind: 'out', exclusion: excludeAll(laid.sample, error.reason) };
  }
}

function lineOfCopy(
  laid: LaidSample,
  placed: Extract<Awaited<ReturnType<typeof copySource>>, { kind: 'packed' }>['placed'],
): MemberLine {
  const [part] = laid.members;
  if (part === undefined) throw new Error('a sample without members was copied');
  const line = lineOf(laid, { part, member: { ...part, body: [] }, source: undefined }, placed);
  return { ...line, crc32: placed.crc32 };
}
