/** The commands of `tidewheel data`, one function each. A function returns the exit code. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { type HoldSettings, holdOf, isUnpacked } from '@tidewheel/declaration/packing-settings.ts';
import { datasetSettings, type Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { readStored } from '@tidewheel/declaration/read.ts';
import { problemsText } from '@tidewheel/kit/errors.ts';
import { type CompactionInput, chooseCompaction, compact } from '@tidewheel/packing/compact.ts';
import {
  blobVersions,
  type DatasetVersion,
  holdsNothing,
  listGenerations,
  type Manifest,
  ManifestError,
  newestVersion,
  packingKeys,
  readVersion,
  reportedHeld,
} from '@tidewheel/packing/dataset.ts';
import { pruneGenerations } from '@tidewheel/packing/maintain.ts';
import { writeQualityReport } from '@tidewheel/packing/report.ts';
import { type BlobStore, readText } from '@tidewheel/packing/store.ts';
import { likelyReaders } from '@tidewheel/placement/estimate.ts';
import { parse } from 'yaml';
import * as z from 'zod';
import { openImageEngine } from '../../functions/aws/images/image-engine.ts';
import { counted } from '../command/format.ts';
import { compare, contents, retract, versionOf } from './contents.ts';
import { find, sample, show } from './look.ts';
import { otherDatasets } from './open.ts';
import { giveUp, repair } from './repair.ts';
import { verifyAndPrint } from './verify-report.ts';
import { complain, type DatasetRequest, found, type Outcome } from './words.ts';

/** The pin of a declaration. Its other parts may be invalid. */
const declared = z.object({ dataset: z.object({ pin: z.string().optional() }).optional() });

async function pinOf(store: BlobStore, pipeline: string): Promise<string | undefined> {
  const text = await readText(store, bucketKeys.pipeline(pipeline));
  return text === undefined ? undefined : declared.parse(parse(text)).dataset?.pin;
}

/** As the API names it, and for a person. */
function stateOf(
  manifest: Manifest,
  newest: DatasetVersion | undefined,
): readonly [word: string, text: string] {
  const { generation, pruned } = manifest;
  if (pruned === true) return ['pruned', 'pruned'];
  if (newest?.pruned.includes(generation)) return ['pruned', 'pruned; the next prune deletes the rest'];
  if (newest?.replaced.includes(generation))
    return ['replaced', `replaced by a ${isUnpacked(manifest) ? 'newer' : 'compacted'} generation`];
  return holdsNothing(manifest) ? ['rejectionsOnly', 'rejections only'] : ['sealed', 'sealed'];
}

async function list({ store, pipeline, tell }: DatasetRequest): Promise<Outcome> {
  const [pin, newest] = [await pinOf(store, pipeline), await newestVersion(blobVersions(store), pipeline)];
  const generations = await listGenerations(store, pipeline);
  if (generations.length === 0) {
    const others = await otherDatasets(store);
    tell(`nothing is sealed under s3://${store.bucket}/${bucketKeys.dataset(pipeline)} yet; ${others}`);
    return found({ pipeline, pinned: pin, generations: [] });
  }
  const listed: object[] = [];
  for (const manifest of generations) {
    if (manifest instanceof ManifestError) {
      complain(`${manifest.generation}  ${manifest.message}`);
      listed.push({ name: manifest.generation, state: 'damaged', problem: manifest.message });
      continue;
    }
    const { generation, shards, samples, bytes, listedAt, arrivals, compacted } = manifest;
    const marks = [
      ...(generation === pin ? ['pinned'] : []),
      ...(compacted ? [`compacted of ${counted(compacted.of.length, 'generation')}`] : []),
    ];
    const [word, text] = stateOf(manifest, newest);
    const state = [text, ...marks].join(', ');
    const rejected = arrivals.rejected > 0 ? `, ${arrivals.rejected} rejected` : '';
    listed.push({
      name: generation,
      state: word,
      listedAt,
      shards: shards.length,
      samples,
      bytes,
      rejected: arrivals.rejected,
      compactedOf: compacted?.of,
    });
    tell(
      `${generation}  ${state}  ${isUnpacked(manifest) ? counted(samples, 'file') : `${counted(shards.length, 'shard')}, ${counted(samples, 'sample')}`}, ${bytes} bytes${rejected}, listed ${listedAt}`,
    );
  }
  const isDamaged = generations.some((one) => one instanceof ManifestError);
  return found({ pipeline, pinned: pin, generations: listed }, isDamaged ? 1 : 0);
}

async function versions({ store, pipeline, tell }: DatasetRequest): Promise<Outcome> {
  const chain = blobVersions(store);
  const newest = await newestVersion(chain, pipeline);
  const all: object[] = [];
  if (newest === undefined) tell(`s3://${store.bucket}/${bucketKeys.dataset(pipeline)} has no version yet`);
  for (let number = 1; number <= (newest?.number ?? 0); number += 1) {
    const { change, generations } = await readVersion(chain, pipeline, number);
    const changed = 'generation' in change ? [change.generation] : change.generations;
    const replaced = change.kind === 'compacted' ? change.replaced : undefined;
    const of = replaced === undefined ? '' : ` of ${replaced.join(', ')}`;
    all.push({ number, kind: change.kind, changed, replaced, generations });
    tell(`${number}  ${change.kind} ${changed.join(', ')}${of}  = ${generations.join(', ') || 'nothing'}`);
  }
  return found({ pipeline, versions: all });
}

async function pin(request: DatasetRequest): Promise<Outcome> {
  const version = await versionOf(request, request.generation);
  if (typeof version === 'string') return complain(version);
  const { pipeline, generation = '', tell } = request;
  const { generations } = version;
  tell(
    `Write this into ${bucketKeys.pipeline(pipeline)}. Runs that begin afterwards train on ${generations.join(', ')}:\n\ndataset:\n  pin: ${generation}`,
  );
  return found({ pipeline, pin: generation, generations });
}

const verify = ({ store, pipeline, generation, tell }: DatasetRequest): Promise<Outcome> =>
  verifyAndPrint(store, { pipeline, generation }, tell);

async function declarationOf({ store, pipeline }: DatasetRequest): Promise<Pipeline | string> {
  const key = bucketKeys.pipeline(pipeline);
  const text = await readText(store, key);
  if (text === undefined) return `${key} is not in s3://${store.bucket}: put the declaration there first`;
  const declaration = readStored(pipeline, text);
  if (declaration.valid) return declaration.pipeline;
  const all = problemsText(declaration.problems);
  return `${key} cannot be used: ${all}`;
}

/** A compaction of everything as the declaration wants it. */
async function compactionOf(request: DatasetRequest): Promise<CompactionInput | string> {
  const declaration = await declarationOf(request);
  if (typeof declaration === 'string') return declaration;
  const { pipeline } = request;
  const { packing, dataset } = declaration;
  const { onChange } = datasetSettings(dataset);
  return { pipeline, packing, readers: likelyReaders(declaration), after: 2, everything: true, onChange };
}

async function compactNow(request: DatasetRequest): Promise<Outcome> {
  const input = await compactionOf(request);
  if (typeof input === 'string') return complain(input);
  const { store, pipeline, tell } = request;
  if (request.dryRun) {
    const chosen = await chooseCompaction(store, input);
    const of = chosen?.inputs.map(({ generation }) => generation) ?? [];
    tell(
      of.length === 0
        ? NOTHING_TO_JOIN
        : `${of.join(', ')} would be joined into ${counted(chosen?.assigned.shards.length ?? 0, 'shard')}`,
    );
    return found({ pipeline, status: of.length === 0 ? 'nothingToCompact' : 'wouldCompact', of });
  }
  const result = await compact(store, input);
  if (result.status === 'superseded')
    return complain(
      `${result.generation} was not added, because another compaction or a prune was faster. Nothing is lost: run the command again`,
    );
  if (result.status === 'nothingToCompact') tell(NOTHING_TO_JOIN);
  else
    tell(
      `${result.of.join(', ')} joined into ${result.generation}: ${counted(result.samples, 'sample')} in ${counted(result.shards, 'shard')}, ${result.bytes} bytes\nThe old shards remain until tidewheel data prune s3://${store.bucket}/${pipeline} --replaced`,
    );
  return found({ pipeline, ...result });
}

const NOTHING_TO_JOIN = 'no two small generations can be joined';

async function prune(request: DatasetRequest): Promise<Outcome> {
  const { store, pipeline, generation, over, dryRun, tell } = request;
  const result = await pruneGenerations(store, {
    pipeline,
    what: generation === undefined ? 'replaced' : { before: generation },
    pin: () => pinOf(store, pipeline),
    over,
    dryRun,
  });
  if (result.kind === 'refused') {
    for (const reason of result.reasons) complain(reason);
    return complain('nothing was deleted');
  }
  const { generations, objects, bytes } = result;
  const names = generations.length === 0 ? '' : ` of ${generations.join(', ')}`;
  const verb = result.kind === 'pruned' ? 'deleted' : 'would be deleted';
  tell(
    objects === 0 ? 'nothing to delete' : `${counted(objects, 'object')} (${bytes} bytes)${names} ${verb}`,
  );
  const status = result.kind === 'pruned' ? 'pruned' : 'wouldPrune';
  return found({ pipeline, status, generations, objects, bytes });
}

async function repairNow(request: DatasetRequest): Promise<Outcome> {
  const { store, pipeline, generation = '', over, tell } = request;
  if (request.giveUp)
    return giveUp({ store, tell }, { pipeline, generation, over, pin: () => pinOf(store, pipeline) });
  const declaration = await declarationOf(request);
  if (typeof declaration === 'string') return complain(declaration);
  return repair({ store, tell }, { pipeline, generation, packing: declaration.packing });
}

async function retractNow(request: DatasetRequest): Promise<Outcome> {
  const input = await compactionOf(request);
  return typeof input === 'string' ? complain(input) : retract(request, input);
}

/** The limits that the report checks are those of the declaration as it is now. */
async function reportNow(request: DatasetRequest): Promise<Outcome> {
  const declaration = await declarationOf(request);
  return report(request, typeof declaration === 'string' ? undefined : holdOf(declaration.packing));
}

export const COMMANDS = {
  list,
  versions,
  contents,
  compare,
  pin,
  verify,
  compact: compactNow,
  retract: retractNow,
  repair: repairNow,
  show,
  sample,
  find,
  report: reportNow,
  release: releaseHeld,
  prune,
};
export const isCommand = (name: string): name is keyof typeof COMMANDS => Object.hasOwn(COMMANDS, name);

// The commands of `tidewheel data` about quality: `report` and `release`.

/** Makes the report of one generation, or of each in the newest version. */
async function report(
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
async function releaseHeld({ store, pipeline, generation = '', tell }: DatasetRequest): Promise<Outcome> {
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
