/** The report of `tidewheel data verify`. */

import { isUnpacked } from '@tidewheel/declaration/packing-settings.ts';
import {
  blobVersions,
  listGenerations,
  type Manifest,
  ManifestError,
  newestVersion,
  packingKeys,
} from '@tidewheel/packing/dataset.ts';
import {
  type RetractedObjects,
  retractedObjects,
  type VerifyReport,
  verifyGeneration,
} from '@tidewheel/packing/maintain.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import { counted } from '../command/format.ts';
import { otherDatasets } from './open.ts';
import { describeRetractions, type RetractedKeys, retractedKeys, tellRetracted } from './verify-retracted.ts';
import { complain, found, type Outcome, type PrintLine } from './words.ts';

const PROBLEMS_SHOWN = 50;
const CLASSES_SHOWN = 30;

/** Such as `8 shards of 250 samples each, 2 for each of 4 workers`. */
function describeShards({ shards, even, workers }: Manifest): string {
  const counts = shards.map(({ samples }) => samples);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const each = least === most ? `${counted(least, 'sample')} each` : `${least} to ${most} samples`;
  const rest = workers === undefined ? 0 : shards.length % workers;
  const share =
    workers === undefined
      ? ''
      : rest === 0
        ? `, ${shards.length / workers} for each of ${workers} workers`
        : `, which do not divide among ${workers} workers (too few samples, or some as large as a shard)`;
  const equal = even === undefined || least === most ? '' : ` (${even.samples} in the first ${even.shards})`;
  return `${counted(shards.length, 'shard')} of ${each}${equal}${share}`;
}

/** One line for each class: samples in the shards and, if the classes were balanced, arrived and planned ones. */
function describeClasses({ balance }: Manifest, { classes }: VerifyReport): string[] {
  if (classes === undefined) return ['more than 10000 different labels: no classes'];
  const names = [...new Set([...classes.keys(), ...Object.keys(balance?.classes ?? {})])].sort();
  const lines = names.slice(0, CLASSES_SHOWN).map((name) => {
    const { samples, copies } = classes.get(name) ?? { samples: 0, copies: 0 };
    const planned = balance?.classes[name];
    const before = planned === undefined ? '' : `${planned.samples} arrived, ${planned.planned} planned, `;
    return `class ${JSON.stringify(name)}: ${before}${samples} in shards${copies === 0 ? '' : ` and ${copies} ${copies === 1 ? 'copy' : 'copies'}`}`;
  });
  return names.length > CLASSES_SHOWN
    ? [...lines, `and ${names.length - CLASSES_SHOWN} more classes`]
    : lines;
}

function describe(manifest: Manifest, report: VerifyReport): string[] {
  const { arrivals, prepared, samples, repeated, shards, splits } = manifest;
  const reasons = Object.entries(manifest.rejections.byReason).map(([reason, count]) => `${count} ${reason}`);
  return [
    ...(shards.length === 0 ? [] : [describeShards(manifest)]),
    ...(splits ?? []).map(
      (split) => `${split.name}: ${counted(split.samples, 'sample')} in ${counted(split.shards, 'shard')}`,
    ),
    `${samples} samples, ${repeated} of them copies; ${arrivals.packed} arrivals packed, ${arrivals.deferred} deferred, ${arrivals.rejected} rejected${reasons.length === 0 ? '' : ` (${reasons.join(', ')})`}`,
    ...(prepared === undefined
      ? []
      : [
          `${prepared.images} images prepared: ${prepared.sourceBytes} bytes became ${prepared.bytes} (${prepared.by.join('; ')})`,
        ]),
    ...describeClasses(manifest, report),
  ];
}

/** Its exit code is 0 without problems, 1 with problems or if there is nothing to read. */
export async function verifyAndPrint(
  store: BlobStore,
  { pipeline, generation: wanted }: { readonly pipeline: string; readonly generation?: string | undefined },
  tell: PrintLine,
): Promise<Outcome> {
  const all = await listGenerations(store, pipeline);
  const generations = all.filter(({ generation }) => wanted === undefined || generation === wanted);
  if (generations.length === 0) {
    const there =
      all.length === 0
        ? await otherDatasets(store)
        : `available: ${all.map(({ generation }) => generation).join(', ')}`;
    const missing = all.length === 0 ? 'nothing is sealed' : `no generation ${wanted ?? ''} is sealed`;
    return complain(`${missing} under s3://${store.bucket}/${pipeline}/dataset/; ${there}`);
  }
  const sealed = all.flatMap((one) => (one instanceof ManifestError ? [] : [one]));
  const retracted = await retractedObjects(store, pipeline, sealed);
  const newest = await newestVersion(blobVersions(store), pipeline);
  const isOld = (one: Manifest): boolean =>
    wanted === undefined && newest?.replaced.includes(one.generation) === true;
  const verified: Verified[] = [];
  for (const generation of generations)
    verified.push(
      generation instanceof ManifestError
        ? tellDamaged(generation, tell)
        : await verifyOne(store, generation, { retracted, isReplaced: isOld(generation), tell }),
    );
  tellRetracted(retracted, verified, tell);
  const isIntact = verified.every(({ problems }) => problems.length === 0);
  return found({ pipeline, generations: verified }, isIntact ? 0 : 1);
}

interface Verified {
  readonly generation: string;
  readonly isPruned?: true;
  /** A newer one has its place. */
  readonly isReplaced?: true;
  readonly shards?: number;
  readonly members?: number;
  /** Read. */
  readonly bytes?: number;
  /** Keys whose members have retracted bytes, without those of the problems. */
  readonly retracted?: RetractedKeys;
  readonly problems: readonly string[];
}

function tellDamaged({ generation, message }: ManifestError, tell: PrintLine): Verified {
  tell(`${generation}: 1 PROBLEM; no check is possible\n  ✗ ${message}`);
  return { generation, problems: [message] };
}

const verdictOf = ({ length }: readonly string[]): string =>
  length === 0 ? 'intact' : `${length} PROBLEM${length === 1 ? '' : 'S'}`;

const lookedAt = (manifest: Manifest, { shards, members, bytes }: VerifyReport): string =>
  isUnpacked(manifest)
    ? `${counted(members, 'file')}, ${bytes} bytes compared by ETag`
    : `${counted(shards, 'shard')}, ${counted(members, 'member')}, ${bytes} bytes read`;

async function verifyOne(
  store: BlobStore,
  manifest: Manifest,
  {
    retracted,
    isReplaced,
    tell,
  }: { readonly retracted: RetractedObjects; readonly isReplaced: boolean; readonly tell: PrintLine },
): Promise<Verified> {
  const { generation } = manifest;
  if (isUnpacked(manifest) && isReplaced) {
    tell(`${generation}: replaced, its files may have changed since; name it to compare them`);
    return { generation, isReplaced, problems: [] };
  }
  if (manifest.pruned === true) {
    tell(`${generation}: pruned, nothing to read`);
    return { generation, isPruned: true, problems: [] };
  }
  const report = await verifyGeneration(store, manifest, retracted);
  const { shards, members, bytes, retractions } = report;
  const problems = [...report.problems, ...(retractions?.problems ?? [])];
  tell(`${generation}: ${verdictOf(problems)}; ${lookedAt(manifest, report)}`);
  for (const line of describe(manifest, report)) tell(`  ${line}`);
  for (const line of describeRetractions(retractions, store, manifest)) tell(`  ${line}`);
  for (const problem of problems.slice(0, PROBLEMS_SHOWN)) tell(`  ✗ ${problem}`);
  const more = problems.length - PROBLEMS_SHOWN;
  if (more > 0) tell(`  ✗ and ${counted(more, 'more problem')}`);
  if (report.problems.length > 0)
    tell(`  restore what is damaged, or run ${packingKeys(manifest.pipeline, generation).repair}`);
  const keys = retractedKeys(retractions);
  return { generation, shards, members, bytes, ...(keys && { retracted: keys }), problems };
}
