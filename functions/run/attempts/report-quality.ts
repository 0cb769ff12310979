/**
 * Makes the quality report of a sealed generation. Whatever happens to the report, the seal stands: a failure is noted
 * on the run's timeline, and a report that has ended its process once is not tried again.
 */

import type { HoldSettings } from '@tidewheel/declaration/packing-settings.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import { quoted } from '@tidewheel/kit/quoted.ts';
import { packingKeys } from '@tidewheel/packing/dataset.ts';
import {
  asNamedTexts,
  notTrainedOnTexts,
  type QualityDeps,
  type QualityReport,
  writeQualityReport,
} from '@tidewheel/packing/report.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import type { Stores } from '../../records/stores.ts';

export interface SealedRun {
  readonly runId: string;
  readonly pipeline: string;
  readonly generation: string;
  readonly hold: HoldSettings | undefined;
}

export async function reportQuality(
  deps: Pick<Stores, 'timeline'> & { readonly clock: Clock },
  quality: QualityDeps,
  { runId, pipeline, generation, hold }: SealedRun,
): Promise<void> {
  const text = await tryReport(quality, { pipeline, generation, hold });
  if (text === undefined) return;
  const at = deps.clock.now().toISOString();
  await deps.timeline.add(runId, { id: 'quality', at, kind: 'QualityReported', text });
}

type Asked = Omit<SealedRun, 'runId'>;

async function tryReport(deps: QualityDeps, asked: Asked): Promise<string | undefined> {
  const { pipeline, generation } = asked;
  const again = `tidewheel data report s3://${deps.store.bucket}/${pipeline} ${generation} makes it`;
  try {
    if (!(await mayBegin(deps.store, asked)))
      return `the quality report ended its process, so it was not tried again; the data is sealed. ${again}`;
    const report = await writeQualityReport(deps, asked);
    return report && sentenceOf(report, deps.store.bucket);
  } catch (error: unknown) {
    const why =
      error instanceof Error ? error.message.slice(0, LONGEST_CAUSE).toWellFormed() : 'unknown error';
    return `the quality report failed, and the data is sealed: ${why}. ${again}`;
  }
}

const LONGEST_CAUSE = 300;

/**
 * False on the second try after a process that did not come back from its first: a report that needs too much memory
 * or time must not end the run.
 */
async function mayBegin(store: BlobStore, { pipeline, generation }: Asked): Promise<boolean> {
  const { quality } = packingKeys(pipeline, generation);
  const begun = await store.put(quality('begun.json'), Buffer.from('{}\n'), { only: 'absent' });
  return begun.kind === 'written' || (await store.head(quality('report.json'))) !== undefined;
}

/** Files that are not packed are listed alone. */
const unreadFiles = ({ arrivals, generationTally }: QualityReport): string[] =>
  arrivals.packed > 0 && generationTally.samples === 0
    ? [`${arrivals.packed === 1 ? '1 file is' : `${arrivals.packed} files are`} not packed, so none was read`]
    : [];

const counted = (count: number, what: string): string[] => (count > 0 ? [`${count} ${what}`] : []);

function sentenceOf(report: QualityReport, bucket: string): string {
  const { duplicates, near, shared, held, splits, pipeline, generation } = report;
  const parts = [
    ...notTrainedOnTexts(report),
    ...unreadFiles(report),
    ...counted(duplicates.within, 'samples repeat others of the batch'),
    ...counted(duplicates.earlier, 'repeat earlier data'),
    ...counted(duplicates.conflicting, 'groups of equal samples have different labels'),
    ...asNamedTexts(report),
    ...faultsOf(report),
    ...hintsOf(report),
    ...(splits?.counts.map(({ name, packed }) => `${packed} samples for ${name}`) ?? []),
    ...(splits?.leaks ?? []).flatMap(({ split, other, samples }) =>
      counted(samples, `samples of ${split} have the bytes of ${other}`),
    ),
    ...counted(near?.images ?? 0, 'images look like another one'),
    ...shared.map(({ pipeline: other, samples }) => `${samples} are in the pipeline ${other} too`),
    ...held.map((one) => `held: ${one}`),
  ];
  const page = `s3://${bucket}/${packingKeys(pipeline, generation).quality('report.html')}`;
  return `${parts.length === 0 ? 'nothing noticed' : parts.join(', ')}; the report is ${page}`;
}

const GROUPS_SHOWN = 3;

/** What may be a mistake of who dropped the data. */
function hintsOf({ alike = [], headers }: QualityReport): string[] {
  const shown = alike.slice(0, GROUPS_SHOWN).map((names) => names.map(quoted).join(' and '));
  const more = alike.length > GROUPS_SHOWN ? ` and ${alike.length - GROUPS_SHOWN} more` : '';
  return [
    ...(shown.length > 0 ? [`classes that may be the same: ${shown.join(', ')}${more}`] : []),
    ...(headers === undefined
      ? []
      : [
          `${headers.alike} of ${headers.looked} CSV sources looked at seem to begin with a header, which trains as a row with packing.lines.header none: write perShard or drop`,
        ]),
  ];
}

/** Texts of this generation at which a reader may stop. */
function faultsOf({ generationTally: { columns } }: QualityReport): string[] {
  const faults = Object.values(columns).flatMap(({ faulty }) => faulty ?? []);
  const sum = (of: 'notText' | 'notJson' | 'brokenLines'): number =>
    faults.reduce((total, one) => total + one[of], 0);
  const broken = `lines or documents in ${sum('notJson')} members are no JSON`;
  return [
    ...counted(sum('notText'), 'texts are no UTF-8'),
    ...(sum('notJson') > 0 ? [`${sum('brokenLines')} ${broken}`] : []),
  ];
}
