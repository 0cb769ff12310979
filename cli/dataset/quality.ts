/** The commands of `tidewheel data` about quality: `report` and `release`. */
import { openImageEngine } from '../../functions/aws/images/image-engine.ts';
import type { BlobStore } from '../../functions/core/packing/model/blob-store.ts';
import { packingKeys } from '../../functions/core/packing/model/packing-keys.ts';
import { blobVersions, newestVersion } from '../../functions/core/packing/model/versions.ts';
import { reportedHeld } from '../../functions/core/packing/quality/held.ts';
import { writeQualityReport } from '../../functions/core/packing/quality/quality-report.ts';
import type { HoldSettings } from '../../functions/core/pipeline/packing-parts.ts';
import { complain, say } from './words.ts';

interface Asked {
  readonly store: BlobStore;
  readonly pipeline: string;
  readonly generation: string | undefined;
}

/** Makes the report of one generation, or of each in the newest version. */
export async function report(
  { store, pipeline, generation }: Asked,
  hold: HoldSettings | undefined,
): Promise<number> {
  const newest = await newestVersion(blobVersions(store), pipeline);
  const names = generation === undefined ? (newest?.generations ?? []) : [generation];
  if (names.length === 0) return complain(`nothing is sealed for ${pipeline} in ${store.bucket} yet`);
  for (const name of names) {
    const made = await writeQualityReport(
      { store, images: openImageEngine },
      { pipeline, generation: name, hold },
    );
    if (made === undefined)
      return complain(`${name} is no sealed generation of ${pipeline}, or it was pruned`);
    const { duplicates, rejections, held } = made;
    const rejected = Object.values(rejections.byReason).reduce((sum, count) => sum + count, 0);
    say(
      `${name}  ${made.generationTally.samples} samples, ${duplicates.within + duplicates.earlier} duplicates, ${rejected} rejected  s3://${store.bucket}/${packingKeys(pipeline, name).quality('report.html')}`,
    );
    for (const one of held) say(`  held: ${one}`);
  }
  return 0;
}

/** Lets training go on that `packing.hold` holds back. */
export async function release({ store, pipeline, generation = '' }: Asked): Promise<number> {
  const held = await reportedHeld(blobVersions(store), pipeline, generation);
  if (held?.length === 0) {
    say(`${generation} is not held back`);
    return 0;
  }
  const body = `${JSON.stringify({ version: 1, at: new Date().toISOString(), held: held ?? [] })}\n`;
  await store.put(packingKeys(pipeline, generation).quality('released.json'), Buffer.from(body), {
    contentType: 'application/json',
  });
  say(
    `${generation} may be trained on${held === undefined ? ', without a quality report' : ''}. Retry its run now (tidewheel retry ${generation}), or wait for the next`,
  );
  return 0;
}
