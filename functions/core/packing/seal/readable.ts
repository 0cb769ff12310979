/** Tells a role that may not read from a few files that cannot be read. */

import { UnreadableArrivalsError } from '@tidewheel/kit/errors.ts';
import { shareOf } from '../../pipeline/packing-parts.ts';
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import type { Plan } from '../model/documents.ts';

/** Below this number, unreadable objects are files with a fault of their own. */
const ALWAYS_ALLOWED = 10;

/** Objects that came otherwise than S3 keeps them. */
const ALTERED: ReadonlySet<string> = new Set(['ChecksumMismatch', 'BadDigest', 'OtherLength', 'OtherRange']);

/** @throws UnreadableArrivalsError if more objects are unreadable than may be left, or all of several */
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
