/** Quality reports of packed drops. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { type QualityReport, writeQualityReport } from '@tidewheel/packing/report.ts';
import { openImageEngine } from '../../../functions/aws/images/image-engine.ts';
import { MemoryBlobStore } from '../fakes/memory-blob-store.ts';
import { runOf } from './compaction.ts';
import { PIPELINE } from './packing.ts';

/** Key of a file of a batch's report. */
export const qualityKey = (batch: number, file: string): string =>
  `${bucketKeys.generation(PIPELINE, runOf(batch))}quality/${file}`;

export async function reportOf(
  store: MemoryBlobStore,
  batch: number,
  hold?: PackingSettings['hold'],
): Promise<QualityReport> {
  const asked = { pipeline: PIPELINE, generation: runOf(batch), hold };
  const report = await writeQualityReport({ store, images: openImageEngine }, asked);
  if (report === undefined) throw new Error('no report');
  return report;
}

/** Texts of one class, each of its own. */
export const many = (label: string, count: number, first = 0): Record<string, string> =>
  Object.fromEntries(
    Array.from({ length: count }, (_, index) => [
      `${label}/${first + index}.txt`,
      `${label} number ${first + index}\n`,
    ]),
  );
