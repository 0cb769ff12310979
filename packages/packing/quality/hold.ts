/** The limits of `packing.hold`: a version that passes one is not trained on until a person releases it. */
import { type HoldSettings, shareOf } from '@tidewheel/declaration/packing-settings.ts';
import type { Manifest } from '../documents/manifest.ts';
import { percent } from './drift.ts';
import type { ClassRow, SplitRows } from './report-document.ts';

export interface MeasuredVersion {
  readonly classes: readonly ClassRow[];
  readonly arrivals: Pick<Manifest['arrivals'], 'objects' | 'rejected'>;
  /** Rejected without a loss: unchanged, deleted, retracted, ignored, or left out by balance. */
  readonly known?: number | undefined;
  /** Samples of the generation, and those that have the bytes of another one with a different label. */
  readonly samples: number;
  readonly conflicting: number;
  readonly splits?: SplitRows | undefined;
}

/** A sentence for each limit that is passed. */
export const limitsPassed = (hold: HoldSettings | undefined, measured: MeasuredVersion): string[] =>
  hold === undefined
    ? []
    : [
        ...shiftsPassed(hold, measured),
        ...runLimitsPassed(hold, measured),
        ...singlesPassed(hold, measured),
        ...leaksPassed(hold, measured),
      ];

/** Those of limits that count only what came with one run. No later run measures them again. */
export const runLimitsPassed = (hold: HoldSettings | undefined, measured: MeasuredVersion): string[] =>
  hold === undefined ? [] : [...rejectedPassed(hold, measured), ...conflictsPassed(hold, measured)];

function shiftsPassed({ classShare }: HoldSettings, { classes }: MeasuredVersion): string[] {
  const isFirst = classes.every(({ before }) => before === 0);
  if (classShare === undefined || isFirst) return [];
  const limit = shareOf(classShare);
  return classes.flatMap(({ name, shareBefore, shareNow }) => {
    if (!isAbove(Math.abs(shareNow - shareBefore), limit)) return [];
    const [before, now] = [percent(shareBefore), percent(shareNow)];
    return [
      `class ${JSON.stringify(name)} has ${now} % of the samples and had ${before} % (limit of the change: ${Number.parseFloat(classShare)} points)`,
    ];
  });
}

/** @param what such as `of the arrivals were rejected` */
function sharePassed(declared: string | undefined, part: number, all: number, what: string): string[] {
  if (declared === undefined || all === 0) return [];
  const [limit, share] = [shareOf(declared), part / all];
  if (!isAbove(share, limit)) return [];
  return [`${percentAbove(share, limit)} % ${what} (limit: ${Number.parseFloat(declared)} %)`];
}

/** Compares what was not rounded: with a limit of 0 %, one sample of a million counts. */
const isAbove = (share: number, limit: number): boolean => share - limit > LEAST_EXCESS;

/** What the rounding of a difference may add; less than one sample of all that a dataset holds. */
const LEAST_EXCESS = 1e-12;

/** The share in percent, with the fewest digits that still show it above the limit. */
function percentAbove(share: number, limit: number): number {
  for (let digits = 1; digits < MOST_DIGITS; digits += 1) {
    const shown = Number((100 * share).toFixed(digits));
    if (shown > 100 * limit) return shown;
  }
  return 100 * share;
}

const MOST_DIGITS = 10;

const rejectedPassed = ({ rejected }: HoldSettings, { arrivals, known = 0 }: MeasuredVersion): string[] =>
  sharePassed(rejected, arrivals.rejected - known, arrivals.objects - known, 'of the arrivals were rejected');

const conflictsPassed = (
  { conflictingLabels }: HoldSettings,
  { samples, conflicting }: MeasuredVersion,
): string[] =>
  sharePassed(
    conflictingLabels,
    conflicting,
    samples,
    'of the samples have the bytes of another one with a different label',
  );

const singlesPassed = ({ singleSampleClasses }: HoldSettings, { classes }: MeasuredVersion): string[] => {
  const held = classes.filter(({ now }) => now > 0);
  const single = held.filter(({ now }) => now === 1);
  return sharePassed(singleSampleClasses, single.length, held.length, 'of the classes have a single sample');
};

const leaksPassed = ({ leakage }: HoldSettings, { splits }: MeasuredVersion): string[] =>
  (splits?.leaks ?? []).flatMap(({ split, other, samples }) => {
    const now = splits?.counts.find(({ name }) => name === split)?.now ?? 0;
    return sharePassed(
      leakage,
      samples,
      now,
      `of the samples of ${split} have the bytes of samples of ${other}`,
    );
  });
