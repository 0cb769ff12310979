/** The commands of `tidewheel data` about quality: `report` and `release`. */

import type { HoldSettings } from '@tidewheel/declaration/packing-settings.ts';
import { blobVersions, newestVersion, packingKeys, reportedHeld } from '@tidewheel/packing/dataset.ts';
import { writeQualityReport } from '@tidewheel/packing/report.ts';
import { openImageEngine } from '../../functions/aws/images/image-engine.ts';
import { complain, type DatasetRequest, found, type Outcome } from './words.ts';

/** Makes the report of one generation, or of each in the newest version. */
export async function report(
  { store, pipeline, generation, tell }: DatasetRequest,
  hold: HoldSettings | undefined,
): Promise<Outcome> {
  const newest = await newestVersion(blobVersions(store), pipeline);
  const names = generation === undefined ? (newest?.generations ?? []) : [generation];
  if (names.length === 0) return complain(`nothing is sealed for ${pipeline} in ${store.bucket} yet`);
  const reports: object[] = [];
  for (const name of names) {
    const made = await writeQualityReport(
      { store, images: openImageEngine },
      { pipeline, generation: name, hold },
    );
    if (made === undefined)
      return complain(`${name} is no sealed generation of ${pipeline}, or it was pruned`);
    const { duplicates, rejections, held } = made;
    const rejected = Object.values(rejections.byReason).reduce((sum, count) => sum + count, 0);
    const { samples } = made.generationTally;
    const repeated = duplicates.within + duplicates.earlier;
    const uri = `s3://${store.bucket}/${packingKeys(pipeline, name).quality('report.html')}`;
    reports.push({ generation: name, samples, duplicates: repeated, rejected, held, report: uri });
    tell(`${name}  ${samples} samples, ${repeated} duplicates, ${rejected} rejected  ${uri}`);
    for (const leak of made.splits?.leaks ?? [])
      if (leak.samples > 0)
        tell(`  ${leak.samples} samples of ${leak.split} have the bytes of samples of ${leak.other}`);
    for (const one of held) tell(`  held: ${one}`);
  }
  return found({ pipeline, reports });
}

/** Lets training go on that `packing.hold` holds back. */
export async function releaseHeld({
  store,
  pipeline,
  generation = '',
  tell,
}: DatasetRequest): Promise<Outcome> {
  const held = await reportedHeld(blobVersions(store), pipeline, generation);
  if (held?.length === 0) {
    tell(`${generation} is not held back`);
    return found({ pipeline, generation, wasHeld: false });
  }
  const body = `${JSON.stringify({ version: 1, at: new Date().toISOString(), held: held ?? [] })}\n`;
  await store.put(packingKeys(pipeline, generation).quality('released.json'), Buffer.from(body), {
    contentType: 'application/json',
  });
  tell(
    `${generation} may be trained on${held === undefined ? ', without a quality report' : ''}. Retry its run now (tidewheel retry ${generation}), or wait for the next`,
  );
  return found({ pipeline, generation, wasHeld: true });
}
