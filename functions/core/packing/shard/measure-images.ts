/** Prepares the images of a shard whose layout is written before its first sample, so that their sizes are known. */

import type { PlannedMember } from '../model/documents.ts';
import { LARGEST_SOURCE_BYTES } from '../model/image-preparation.ts';
import type { LaidSample } from '../model/sample-layout.ts';
import { FetchWindow, piecesOf } from './fetch-window.ts';
import { type Preparations, preparedOf } from './shard-images.ts';
import type { PackDeps } from './shard-job.ts';

/** What changed or vanished is left for the build to find, and so is what is too large to be prepared: it is never read. */
export async function measureImages(
  { store, window: limits, slots }: Pick<PackDeps, 'store' | 'window' | 'slots'>,
  samples: readonly LaidSample[],
  preparations: Preparations,
): Promise<void> {
  const members: PlannedMember[] = [];
  for (const laid of samples)
    for (const member of preparedOf(laid))
      if (laid.sample.repeat === 0 && member.size <= LARGEST_SOURCE_BYTES) members.push(member);
  const window = new FetchWindow(store, members, limits, slots);
  try {
    for (const member of members) {
      const chunks: Uint8Array[] = [];
      let isWhole = true;
      for (const _ of piecesOf(member, limits.pieceBytes)) {
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
