/** What a run would pack: the new arrivals of one listing of `incoming/`, as a draft of its plan. It only reads. */
import type { OnChange, OnDelete } from '../../pipeline/dataset.ts';
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import { bucketKeys } from '../../shared/keys.ts';
import { hasDeclaredRejections, lapsedUnder, rejectingRules } from '../arrivals/declared-rejections.ts';
import { ignoredFiles } from '../arrivals/ignored-files.ts';
import { type Bundles, openBundles } from '../arrivals/open-bundles.ts';
import { type Retraction, readRetractions } from '../arrivals/retractions.ts';
import { formatOf } from '../formats/formats.ts';
import { Annotations } from '../labels/annotations.ts';
import type { ComparedLabels } from '../labels/compared-labels.ts';
import { type CorrectedLabels, correctedLabels } from '../labels/corrected-labels.ts';
import { SampleLabels } from '../labels/sample-labels.ts';
import type { BlobStore, ListedBlob } from '../model/blob-store.ts';
import { type HeldSamples, NOTHING_HELD } from '../model/held-samples.ts';
import {
  type KnownRanges,
  listedRangesBody,
  NOTHING_KNOWN,
  RangeCollector,
  sealedRanges,
} from '../model/listed-ranges.ts';
import { type Manifest } from '../model/manifest.ts';
import { lastInOrder } from '../model/order.ts';
import { type SealedGenerations, sealedGenerations } from '../model/sealed-arrivals.ts';
import { type LikelyReaders } from '../model/shard-count.ts';
import { begunWith } from './begun-with.ts';
import { DraftPlan } from './draft-plan.ts';
import { NewArrivals } from './new-arrivals.ts';
import { listRanges, notifiedRanges } from './notified-ranges.ts';
import { listInParallel } from './parallel-listing.ts';
import { removedObjects } from './removed-objects.ts';
import { heldOf } from './returning-samples.ts';
import { mayBeFreed, type SealedFilter, sealedFilter } from './sealed-filter.ts';
import { sharesHeader } from './source-schema.ts';
import { columnsBefore } from './waiting-samples.ts';
import { WholeSamples } from './whole-samples.ts';

export interface PlanDeps {
  readonly store: BlobStore;
  /** Used only if the store's answers have no time. */
  readonly now: () => Date;
  /** Of listed-ranges.ts, where 1,000 are too many. */
  readonly rangeObjects?: number | undefined;
  /** Hears of the objects of each page. */
  readonly onListed?: ((objects: number) => void) | undefined;
}

export interface PlanInput {
  readonly runId: string;
  readonly pipeline: string;
  readonly packing: PackingSettings;
  /** Without them, only the declaration and the size decide the number of shards. */
  readonly readers?: LikelyReaders | undefined;
  /** Replace an outdated plan. Its workers must have ended, because they would go on writing its shards. */
  readonly replaceOutdated?: boolean | undefined;
  /** Name of the object that closes a batch. It is not data. */
  readonly settleMarker?: string | undefined;
  /** Lists only around the keys of notifications, where those noted since this time are known to be all. */
  readonly notifiedSince?: string | undefined;
  /** By default `keep`. */
  readonly onChange?: OnChange | undefined;
  /** By default `keep`. */
  readonly onDelete?: OnDelete | undefined;
}

export interface Drafted {
  readonly draft: DraftPlan;
  readonly changes: number;
  readonly listedAt: string;
  /** Of listed-ranges.ts. */
  readonly listed: Uint8Array;
  readonly annotations: Annotations | undefined;
  readonly labels: SampleLabels | undefined;
  readonly held: HeldSamples;
  /** Those before the listing. */
  readonly retractions: readonly Retraction[];
  /** To be noted. */
  readonly compared: ComparedLabels | undefined;
}

interface Listing {
  readonly known: KnownRanges;
  readonly arrivals: NewArrivals;
  readonly see: (objects: readonly ListedBlob[]) => Promise<void>;
  readonly bundles: Bundles;
}

export async function draftPlan(deps: PlanDeps, input: PlanInput): Promise<Drafted> {
  const incoming = bucketKeys.incoming(input.pipeline);
  const sealed = await sealedGenerations(deps.store, input.pipeline);
  const settings = begunWith(input.packing, sealed.manifests);
  const annotations = await Annotations.open(deps.store, settings, incoming);
  const labels = annotations && new SampleLabels(annotations);
  const isIgnored = ignoredFiles(settings);
  const draft = new DraftPlan({ incoming, format: formatOf(settings), settings, labels, isIgnored });
  const { onChange = 'keep', onDelete } = input;
  const known = await knownRanges(deps.store, input, { sealed, annotations });
  const samples = new WholeSamples({
    add: (object, isKnown) => draft.add(object, isKnown),
    remove: (object) => draft.remove(object),
    correctedWith: (key) => corrected.get(key),
    isIgnored: ({ key }) => isIgnored(key.slice(incoming.length)),
    ...wholeness({ ...input, packing: settings }, sealed.manifests),
  });
  const removed =
    onDelete === 'retract' ? await removedObjects(deps.store, input.pipeline, sealed) : undefined;
  const retractions = await readRetractions(deps.store, input.pipeline);
  const rules = {
    annotations: annotations?.version,
    isLapsed: lapsedUnder({ incoming, settings, isIgnored }),
    onChange,
    uncovers: removed?.isAnyDeletedByRun === false,
    readsRetracted: true,
    retractions,
  };
  const newer = onChange === 'replace' ? annotations : undefined;
  const { corrected, compared } = await correctedLabels(deps.store, sealed.manifests, newer);
  const arrivals = new NewArrivals({
    known: known.ranges,
    stateOf: withCorrected(sealedFilter(deps.store, sealed.manifests, rules), corrected),
    samples,
    listed: new RangeCollector(deps.rangeObjects),
    removed,
  });
  const notData = new Set([incoming, `${incoming}${input.settleMarker ?? ''}`, annotations?.key]);
  let last = '';
  const see = async (objects: readonly ListedBlob[]): Promise<void> => {
    deps.onListed?.(objects.length);
    last = lastInOrder(objects, last);
    const data = objects.filter(({ key }) => !notData.has(key));
    if (labels !== undefined) for (const { key } of data) labels.noteListed(key.slice(incoming.length));
    await arrivals.see(data);
  };
  const bundles = await openBundles(deps, input.pipeline);
  const at = await listIncoming(deps, input, { known, arrivals, see, bundles });
  const ranges = await arrivals.finish();
  draft.finish({
    earlier: columnsBefore(sealed.manifests),
    labels: sealed.manifests.flatMap((manifest) => manifest.labels ?? []),
    at: Date.parse(at),
  });
  const listed = listedRangesBody(
    sealed.manifests.map(({ generation }) => generation),
    { ranges, at, rules: rejectingRules(settings) },
  );
  const returned = { pipeline: input.pipeline, manifests: sealed.manifests, draft };
  // The same bytes may get another label of other annotations, and the same rows may follow another header.
  const isHeld = annotations === undefined && !sharesHeader(input.packing);
  const held = isHeld ? await heldOf(deps.store, returned) : NOTHING_HELD;
  const { changes } = samples;
  return { draft, changes, listedAt: at, listed, annotations, labels, held, retractions, compared };
}

/** Arrivals that were rejected or freed may have to be packed now: then each one is looked up. */
async function knownRanges(
  store: BlobStore,
  { pipeline, packing, onDelete }: PlanInput,
  {
    sealed,
    annotations,
  }: { readonly sealed: SealedGenerations; readonly annotations: Annotations | undefined },
): Promise<KnownRanges> {
  const isAnyKnown = annotations === undefined && onDelete !== 'retract' && !mayBeFreed(sealed.manifests);
  const known = isAnyKnown ? await sealedRanges(store, pipeline, sealed) : NOTHING_KNOWN;
  const mayLapse = known.rules !== rejectingRules(packing) && hasDeclaredRejections(sealed.manifests);
  return mayLapse ? NOTHING_KNOWN : known;
}

/** A packed object whose sample has another label now. */
const withCorrected =
  (stateOf: SealedFilter, corrected: CorrectedLabels): SealedFilter =>
  (object) => {
    if (!corrected.has(object.key)) return stateOf(object);
    return Promise.resolve(stateOf(object)).then((is) => (is === 'sealed' ? 'relabelled' : is));
  };

function wholeness({ packing, onChange }: PlanInput, manifests: readonly Manifest[]) {
  const isWhole = formatOf(packing).takes === 'samples';
  const replaces = onChange === 'replace';
  const isAnyLate = manifests.some(({ rejections }) => rejections.byReason['requiredMissing'] !== undefined);
  const { innerSuffixes } = packing;
  return { isWhole, innerSuffixes, replaces, looksBack: isWhole && (replaces || isAnyLate) };
}

/** @returns the time when it began, ISO 8601 */
async function listIncoming(
  deps: PlanDeps,
  { pipeline, notifiedSince: since }: PlanInput,
  { known, arrivals, see, bundles }: Listing,
): Promise<string> {
  const incoming = bucketKeys.incoming(pipeline);
  // Members of bundles are not notified of one by one.
  const notified =
    since === undefined || bundles.isAny ? undefined : await notifiedRanges(deps, pipeline, { known, since });
  if (notified !== undefined) {
    let next = 0;
    for await (const [range, objects] of listRanges(deps.store, incoming, {
      known: known.ranges,
      ranges: notified.ranges,
    })) {
      for (; next < range; next += 1) arrivals.keepRange();
      await see(objects);
      await arrivals.endRange();
      next = range + 1;
    }
    return notified.at;
  }
  // Known ranges count members too, so they do not say where the pages of the listing begin.
  const pages = listInParallel(deps.store, incoming, { known: bundles.isAny ? [] : known.ranges });
  for await (const page of bundles.merged(pages)) await see(page);
  return bundles.listedAt;
}
