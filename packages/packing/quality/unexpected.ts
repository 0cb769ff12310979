/** What a person may not expect of a drop, in sentences: what is not trained on, and what is no file that its name says. */
import { belowIncoming } from '@tidewheel/contract/bucket-keys.ts';
import { shownKey } from '@tidewheel/kit/quoted.ts';
import type { QualityReport } from './report-document.ts';

/** Such as `12 of 13 arrivals (92.3 %) are not trained on: 12 suffixNotAccepted, such as images/1.nii.gz`. */
export function notTrainedOnTexts({
  notTrainedOn: share,
  refusedArchives = [],
  pipeline,
}: QualityReport): string[] {
  if (share === undefined) return [];
  const { objects, of, byReason, example } = share;
  const percent = Number(((100 * objects) / of).toFixed(1));
  const counts = Object.entries(byReason).map(([reason, count]) => `${count} ${reason}`);
  const shown = example === undefined ? '' : `, such as ${shownKey(belowIncoming(pipeline, example))}`;
  return [
    `${objects} of ${of} arrivals (${percent} %) are not trained on: ${counts.join(', ')}${shown}`,
    ...refusedArchives.map(
      ({ key, why }) => `${shownKey(belowIncoming(pipeline, key))} is not unpacked: ${why}`,
    ),
  ];
}

/** Joins without a declaration, files without a byte, archives, changed names, and images without a header. */
export function asNamedTexts({
  dots: { joined, paired } = {},
  generationTally,
  pipeline,
}: QualityReport): string[] {
  const shown = (counted: { members: number; example: string } | undefined, what: string): string[] =>
    counted === undefined
      ? []
      : [`${counted.members} ${what}, such as ${shownKey(belowIncoming(pipeline, counted.example))}`];
  return [
    ...Object.values(generationTally.columns).flatMap(({ width, headless, empty, archive, renamed }) => [
      ...shown(empty, 'files are empty'),
      ...shown(
        archive,
        'archives are one sample each (packing.archives: unpack makes samples of their files)',
      ),
      ...shown(renamed, 'files have another name in the shards'),
      // Where no image has a header, an earlier release looked at none.
      ...(width === undefined ? [] : shown(headless, 'images have no header of one')),
    ]),
    ...shown(joined && { ...joined, members: joined.objects }, 'files join a sample by a word between dots'),
    ...shown(paired && { ...paired, members: paired.objects }, 'files join a sample of the same name'),
  ];
}
