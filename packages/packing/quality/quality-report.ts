/**
 * The quality report of one sealed generation: counts, duplicates, rejections and drift, as JSON and as a page. It
 * follows from what is sealed, so it can be made again at any time, with the same result.
 */
import { type HoldSettings, SPLITS } from '@tidewheel/declaration/packing-settings.ts';
import { archiveNotes } from '../archives/archive-notes.ts';
import type { BlobStore } from '../documents/blob-store.ts';
import type { ImageEngine } from '../documents/image-preparation.ts';
import type { Manifest } from '../documents/manifest.ts';
import { packingKeys } from '../documents/packing-keys.ts';
import { manifestsOf, readSealedManifest } from '../documents/sealed-arrivals.ts';
import { blobVersions } from '../documents/versions.ts';
import { channelStatistics } from '../media/pixel-sums.ts';
import { digitsOf } from './digest-list.ts';
import { classRows, classShifts, medianShifts } from './drift.ts';
import { findKeys, rejectedExamples } from './examples.ts';
import { type GenerationFacts, generationFacts } from './generation-facts.ts';
import { headerLines } from './header-lines.ts';
import { stillHeld } from './held.ts';
import { limitsPassed, runLimitsPassed } from './hold.ts';
import { type NearDuplicates, nearDuplicates } from './near-duplicates.ts';
import { otherPipelines, sharedSamples } from './other-pipelines.ts';
import type { ClassRow, QualityReport, RejectedExamples } from './report-document.ts';
import { reportPage } from './report-page.ts';
import { thumbnails } from './thumbnails.ts';
import { type Compared, compareWithVersion, type VersionPair, versionPair } from './version-tally.ts';

export interface QualityDeps {
  readonly store: BlobStore;
  /** For thumbnails; without it small images are shown as they are. */
  readonly images?: (() => ImageEngine | undefined) | undefined;
}

export interface QualityInput {
  readonly pipeline: string;
  readonly generation: string;
  readonly hold?: HoldSettings | undefined;
}

/** Writes the page first and the document last. @returns undefined for a generation that is not sealed */
export async function writeQualityReport(
  { store, images }: QualityDeps,
  { pipeline, generation, hold }: QualityInput,
): Promise<QualityReport | undefined> {
  const manifest = await readSealedManifest(store, pipeline, generation);
  if (manifest === undefined || manifest.pruned === true) return undefined;
  const pair = await versionPair(store, manifest, hold !== undefined);
  const report = await qualityReport(store, { manifest, pair, hold });
  const { quality } = packingKeys(pipeline, generation);
  const pictures = await thumbnails({ store, images: images?.() }, report.rejections.examples);
  const page = reportPage(report, pictures);
  await store.put(quality('report.html'), Buffer.from(page), { contentType: 'text/html; charset=utf-8' });
  const body = Buffer.from(`${JSON.stringify(report, undefined, 1)}\n`);
  await store.put(quality('report.json'), body, { contentType: 'application/json' });
  return report;
}

interface Sources {
  readonly manifest: Manifest;
  readonly pair: VersionPair;
  readonly hold: HoldSettings | undefined;
}

async function qualityReport(store: BlobStore, { manifest, pair, hold }: Sources): Promise<QualityReport> {
  const { pipeline, generation } = manifest;
  const facts = await generationFacts(store, manifest);
  const compared = await compareWithVersion(store, { pipeline, generation, facts, pair });
  const { before, now } = compared;
  const near = nearDuplicates(facts.looks, compared.looks);
  const others = await otherPipelines(store, pipeline);
  const found = await findKeys(store, manifest, {
    repeated: new Set(compared.repeated),
    elsewhere: await manifestsOf(store, pipeline, compared.elsewhere),
    others: new Set([...near.examples.flat(), ...compared.leaks.flatMap(({ examples }) => examples)]),
  });
  const classes = classRows({ packed: facts.tally, before, now, arrived: manifest.balance?.classes ?? {} });
  const headers = await headerLines(store, manifest);
  const examples = await rejectedExamples(store, manifest);
  const splits = splitRows(facts, compared, found.keys);
  const { objects, packed, rejected, deferred } = manifest.arrivals;
  const measured = {
    classes: classes ?? [],
    arrivals: manifest.arrivals,
    known: knownOf(manifest.rejections.byReason),
    samples: facts.tally.samples,
    conflicting: found.conflictingSamples,
    ...splits,
  };
  return {
    version: 1,
    pipeline,
    generation,
    before: pair.before,
    now: pair.now,
    arrivals: { objects, packed, rejected, deferred },
    ...leftIn(manifest),
    ...notTrainedOn(manifest, examples),
    ...(await refusedArchives(store, pipeline, examples)),
    ...(manifest.dots && { dots: manifest.dots }),
    unprepared: unpreparedIn(facts),
    generationTally: facts.tally,
    versionTally: now,
    ...(now.pixels && { channels: channelStatistics(now.pixels) }),
    ...classesIn(classes),
    ...(headers && { headers }),
    ...splits,
    duplicates: {
      within: compared.within,
      // Where changed objects are kept, both stay in the dataset.
      earlier: compared.earlier - (manifest.changes === undefined ? 0 : found.corrections),
      conflicting: found.conflicting,
      examples: found.groups,
    },
    ...(await sharedSamples(store, facts.digests, others)),
    ...nearRow(facts, near, found.keys),
    rejections: {
      byReason: manifest.rejections.byReason,
      examples,
    },
    drift: { classes: classShifts(classes ?? []), medians: medianShifts(before, now) },
    held: [...limitsPassed(hold, measured), ...(await stillHeld(blobVersions(store), pipeline, pair.held))],
    heldOfRun: runLimitsPassed(hold, measured),
  };
}

function classesIn(classes: readonly ClassRow[] | undefined): Pick<QualityReport, 'classes' | 'alike'> {
  if (classes === undefined) return {};
  const alike = alikeClasses(classes);
  return { classes, ...(alike.length > 0 && { alike }) };
}

/** What its owner knows of is no loss. */
const KNOWN = ['unchanged', 'removed', 'retracted', 'ignored', 'balancedOut', 'unpacked'];

const knownOf = (byReason: Manifest['rejections']['byReason']): number =>
  KNOWN.reduce((sum, reason) => sum + (byReason[reason] ?? 0), 0);

function notTrainedOn(
  { arrivals, rejections, left }: Manifest,
  rejected: RejectedExamples,
): Pick<QualityReport, 'notTrainedOn'> {
  const known = knownOf(rejections.byReason);
  const objects = arrivals.rejected - known + arrivals.deferred;
  if (objects === 0) return {};
  const byReason = Object.fromEntries(
    Object.entries({ ...rejections.byReason, ...left?.byReason })
      .filter(([reason]) => !KNOWN.includes(reason))
      .toSorted(([, a], [, b]) => b - a),
  );
  const [most = ''] = Object.keys(byReason);
  const example = rejected[most]?.[0]?.key ?? left?.examples.find(({ reason }) => reason === most)?.key;
  return { notTrainedOn: { objects, of: arrivals.objects - known, byReason, ...(example && { example }) } };
}

async function refusedArchives(
  store: BlobStore,
  pipeline: string,
  { archiveRefused = [] }: RejectedExamples,
): Promise<Pick<QualityReport, 'refusedArchives'>> {
  const all: { readonly key: string; readonly why: string }[] = [];
  for (const { key } of archiveRefused)
    for (const { state, why } of await archiveNotes(store, pipeline, key))
      if (state === 'archiveRefused' && why !== undefined) all.push({ key, why });
  return all.length === 0 ? {} : { refusedArchives: all };
}

const MOST_EXAMPLES = 10;

function leftIn({ left }: Manifest): Pick<QualityReport, 'left'> {
  if (left === undefined) return {};
  const shown = new Map<string, number>();
  const examples = left.examples.filter(({ reason }) => {
    const before = shown.get(reason) ?? 0;
    shown.set(reason, before + 1);
    return before < MOST_EXAMPLES;
  });
  return { left: { ...left, examples } };
}

const unpreparedIn = ({ tally: { columns } }: GenerationFacts): QualityReport['unprepared'] =>
  Object.fromEntries(
    Object.entries(columns).flatMap(([name, { unprepared = 0 }]) =>
      unprepared > 0 ? [[name, unprepared]] : [],
    ),
  );

function splitRows(
  { tally }: GenerationFacts,
  { now: { splits }, leaks }: Compared,
  keys: ReadonlyMap<bigint, string>,
): Pick<QualityReport, 'splits'> {
  if (splits === undefined) return {};
  const all = Object.values(splits).reduce((sum, { samples }) => sum + samples, 0);
  const counts = SPLITS.filter((name) => splits[name] !== undefined).map((name) => {
    const { samples: packed, copies } = tally.splits?.[name] ?? { samples: 0, copies: 0 };
    const now = splits[name]?.samples ?? 0;
    return { name, packed, copies, now, share: all === 0 ? 0 : now / all };
  });
  const shown = leaks.map(({ examples, ...leak }) => ({
    ...leak,
    examples: examples.map((half) => keys.get(half) ?? digitsOf(half)),
  }));
  return { splits: { counts, leaks: shown } };
}

const nearRow = (
  { looks }: GenerationFacts,
  { images, isLowerBound, examples }: NearDuplicates,
  keys: ReadonlyMap<bigint, string>,
): Pick<QualityReport, 'near'> => {
  if (looks.length === 0) return {};
  const nameOf = (half: bigint): string => keys.get(half) ?? digitsOf(half);
  return {
    near: { images, isLowerBound, examples: examples.map(([a, b]) => [nameOf(a), nameOf(b)] as const) },
  };
};

// Classes whose names a person would read as the same: `Cat` and `cat `, or one in two Unicode forms.

/** Without case, blanks around, invisible characters and leading zeros; `-`, `_` and blanks are the same. */
const readAs = (name: string): string =>
  name
    .normalize('NFKC')
    .replace(/\p{Cf}/gu, '')
    .toLowerCase()
    .replace(/[\s_-]+/gu, ' ')
    .trim()
    .replace(/^0+(?=\d+$)/, '');

/** Groups of two or more classes that the version holds. */
function alikeClasses(rows: readonly ClassRow[]): string[][] {
  const groups = new Map<string, string[]>();
  for (const { name, now } of rows) {
    if (now === 0) continue;
    const text = readAs(name);
    const group = groups.get(text);
    if (group === undefined) groups.set(text, [name]);
    else group.push(name);
  }
  return [...groups.values()].filter(({ length }) => length > 1);
}
