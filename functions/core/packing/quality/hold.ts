/** The limits of `packing.hold`: a version that passes one is not trained on until a person releases it. */
import type { HoldSettings } from '../../pipeline/packing-parts.ts';
import type { Manifest } from '../model/manifest.ts';
import { percent } from './drift.ts';
import type { ClassRow } from './report-document.ts';

/** @param written as declared, such as `20 %` */
const numberIn = (written: string): number => Number.parseFloat(written);

export interface Measured {
  readonly classes: readonly ClassRow[];
  readonly arrivals: Pick<Manifest['arrivals'], 'objects' | 'rejected'>;
  /** Of the rejected ones, those that the dataset holds or held: unchanged, or deleted by their owner. */
  readonly known?: number | undefined;
}

/** A sentence for each limit that is passed. */
export function limitsPassed(
  hold: HoldSettings | undefined,
  { classes, arrivals, known = 0 }: Measured,
): string[] {
  if (hold === undefined) return [];
  const passed: string[] = [];
  const isFirst = classes.every(({ before }) => before === 0);
  if (hold.classShare !== undefined && !isFirst) {
    const limit = numberIn(hold.classShare);
    for (const { name, shareBefore, shareNow } of classes) {
      const [before, now] = [percent(shareBefore), percent(shareNow)];
      if (Math.abs(now - before) > limit)
        passed.push(
          `class ${JSON.stringify(name)} has ${now} % of the samples and had ${before} % (limit of the change: ${limit} points)`,
        );
    }
  }
  if (hold.rejected !== undefined && arrivals.objects > 0) {
    const [limit, share] = [numberIn(hold.rejected), percent((arrivals.rejected - known) / arrivals.objects)];
    if (share > limit) passed.push(`${share} % of the arrivals were rejected (limit: ${limit} %)`);
  }
  return passed;
}
