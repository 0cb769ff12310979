/**
 * What a run would pack: the new arrivals of one listing of `incoming/`, as a draft of its plan, and what all its shards
 * have in common. It only reads.
 */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import type { PackingSettings } from '@tidewheel/declaration/pipeline.ts';
import { TransientError } from '@tidewheel/kit/errors.ts';
import { type Bundles, openBundles } from '../arrivals/open-bundles.ts';
import { readArrival } from '../arrivals/read-arrival.ts';
import { ignoredFiles, lapsedUnder, rejectingRules } from '../arrivals/rejected-keys.ts';
import { type BlobStore, joinChunks, type ListedBlob } from '../documents/blob-store.ts';
import type { Plan } from '../documents/documents.ts';
import { type HeldSamples, NOTHING_HELD } from '../documents/held-samples.ts';
import { lastInOrder } from '../documents/order.ts';
import type { LikelyReaders } from '../documents/shard-count.ts';
import { type FileFormat, HEAD_BYTES } from '../documents/shard-format.ts';
import { formatOf } from '../formats/formats.ts';
import { SampleLabels } from '../labels/sample-labels.ts';
import { type BeforeListing, type DatasetInput, readBeforeListing } from './before-listing.ts';
import { DraftPlan } from './draft-plan.ts';
import { listedRangesBody, RangeCollector } from './listed-ranges.ts';
import { NewArrivals, type SealedFilter, sealedFilter, WholeSamples } from './new-arrivals.ts';
import { listRanges, notifiedRanges } from './notified-ranges.ts';
import { listInParallel } from './parallel-listing.ts';
import { heldOf } from './returning-samples.ts';
import { columnsBefore } from './waiting-samples.ts';

function sharedHeader(packing: PackingSettings): FileFormat['header'] {
  const format = formatOf(packing);
  const header = format.takes === 'files' ? format.header : undefined;
  return header?.isShared(packing) === true ? header : undefined;
}

/** Whether the shards hold the sources without their headers. */
const sharesHeader = (packing: PackingSettings): boolean => sharedHeader(packing) !== undefined;

const NO_HEADER = '\n';

/** @throws TransientError if the object with the header changed */
export async function sourceSchemaOf(
  store: BlobStore,
  packing: PackingSettings,
  draft: DraftPlan,
): Promise<Plan['sourceSchema']> {
  const columns = draft.columns();
  const header = sharedHeader(packing);
  if (header === undefined) return { columns };
  let isAnyRead = false;
  for (const first of draft.first) {
    const head = await headOf(store, first);
    isAnyRead ||= head !== undefined;
    const csvHeader = head && header.of(head);
    if (csvHeader !== undefined) return { columns, csvHeader };
  }
  // Without a header each source would be packed with its own.
  return isAnyRead ? { columns, csvHeader: NO_HEADER } : { columns };
}

/** Undefined if the store refuses the object. */
async function headOf(store: BlobStore, first: ListedBlob): Promise<Uint8Array | undefined> {
  const found = await readArrival(store, first, HEAD_BYTES);
  if (found.kind === 'unreadable') return undefined;
  // Without the header, all sources would be rejected for having another one.
  if (found.kind !== 'found')
    throw new TransientError(`${first.key} changed while the run was planned; the next try lists again`);
  return joinChunks(found.chunks);
}

export interface DraftDeps {
  readonly store: BlobStore;
  /** Used only if the store's answers have no time. */
  readonly now: () => Date;
  /** The objects of a range in listed-ranges.ts, where 1,000 are too many. */
  readonly rangeObjects?: number | undefined;
  /** Called for each listed page with its number of objects. */
  readonly onListed?: ((objects: number) => void) | undefined;
}

export interface PlanInput extends DatasetInput {
  readonly runId: string;
  /** Without them, only the declaration and the size decide the number of shards. */
  readonly readers?: LikelyReaders | undefined;
  /** Replace an outdated plan. Its workers must have ended, because they would go on writing its shards. */
  readonly replaceOutdated?: boolean | undefined;
  /** Name of the object that closes a batch. It is not data. */
  readonly settleMarker?: string | undefined;
  /** Lists only around the keys of notifications, where those noted since this time are known to be all. */
  readonly notifiedSince?: string | undefined;
}

export interface Drafted extends Pick<BeforeListing, 'annotations' | 'lists' | 'retractions' | 'compared'> {
  readonly draft: DraftPlan;
  readonly changes: number;
  /** When the listing began, ISO 8601. */
  readonly listedAt: string;
  /** The ranges of the listing, as listed-ranges.ts stores them. */
  readonly listed: Uint8Array;
  readonly labels: SampleLabels | undefined;
  readonly held: HeldSamples;
}

export async function draftPlan(deps: DraftDeps, input: PlanInput): Promise<Drafted> {
  const before = await readBeforeListing(deps.store, input);
  const collecting = startCollecting(deps, input, before);
  const listedAt = await listIncoming(deps, input, {
    before,
    arrivals: collecting.arrivals,
    see: pageTaker(deps, input, { before, collecting }),
    bundles: await openBundles(deps, input.pipeline),
  });
  const ranges = await collecting.arrivals.finish();
  finishDraft(collecting.draft, before, listedAt);
  const { manifests, settings, annotations, lists, retractions, compared } = before;
  const { draft, labels, samples } = collecting;
  const listed = listedRangesBody(
    manifests.map(({ generation }) => generation),
    { ranges, at: listedAt, rules: rejectingRules(settings) },
  );
  const held = await heldByDataset(deps.store, input, { before, draft });
  return {
    draft,
    changes: samples.changes,
    listedAt,
    listed,
    annotations,
    lists,
    labels,
    held,
    retractions,
    compared,
  };
}

/** What takes a listed object, in this order: whether it is news, which sample it is of, and the draft. */
interface Collecting {
  readonly arrivals: NewArrivals;
  readonly samples: WholeSamples;
  readonly draft: DraftPlan;
  /** Undefined without a file of annotations. */
  readonly labels: SampleLabels | undefined;
}

function startCollecting(deps: DraftDeps, { pipeline }: PlanInput, before: BeforeListing): Collecting {
  const { settings, annotations, known, removed, corrected, lists } = before;
  const incoming = bucketKeys.incoming(pipeline);
  const isIgnored = ignoredFiles(settings);
  const labels = annotations && new SampleLabels(annotations);
  const draft = new DraftPlan({ incoming, format: formatOf(settings), settings, labels, isIgnored, lists });
  const samples = new WholeSamples({
    add: (object, isKnown) => draft.add(object, isKnown),
    remove: (object) => draft.remove(object),
    correctedWith: (key) => corrected.get(key),
    isIgnored: ({ key }) => isIgnored(key.slice(incoming.length)),
    incoming,
    ...wholeness(before),
  });
  const arrivals = new NewArrivals({
    known: known.ranges,
    stateOf: stateOfArrivals(deps.store, incoming, before),
    samples,
    listed: new RangeCollector(deps.rangeObjects),
    removed,
  });
  return { arrivals, samples, draft, labels };
}

function wholeness({ settings, onChange, manifests }: BeforeListing) {
  const isWhole = formatOf(settings).takes === 'samples';
  const replaces = onChange === 'replace';
  const isAnyLate = manifests.some(({ rejections }) => rejections.byReason['requiredMissing'] !== undefined);
  const { innerSuffixes, join } = settings;
  return {
    isWhole,
    naming: { innerSuffixes, join },
    replaces,
    looksBack: isWhole && (replaces || isAnyLate),
  };
}

/** What generations say of an arrival, and whether a packed object's sample has another label now. */
function stateOfArrivals(store: BlobStore, incoming: string, before: BeforeListing): SealedFilter {
  const { settings, annotations, onChange, removed, retractions, corrected } = before;
  const stateOf = sealedFilter(store, before.manifests, {
    annotations: annotations?.version,
    isLapsed: lapsedUnder({ incoming, settings, isIgnored: ignoredFiles(settings) }),
    onChange,
    uncovers: removed?.isAnyDeletedByRun === false,
    readsRetracted: true,
    retractions,
  });
  return (object) => {
    if (!corrected.has(object.key)) return stateOf(object);
    return Promise.resolve(stateOf(object)).then((is) => (is === 'sealed' ? 'relabelled' : is));
  };
}

type TakePage = (objects: readonly ListedBlob[]) => Promise<void>;

/** Takes the pages of the listing in order, without the objects that are not data. */
function pageTaker(
  deps: DraftDeps,
  { pipeline, settleMarker = '' }: PlanInput,
  {
    before,
    collecting: { arrivals, labels },
  }: { readonly before: BeforeListing; readonly collecting: Collecting },
): TakePage {
  const incoming = bucketKeys.incoming(pipeline);
  const notData = new Set([
    incoming,
    `${incoming}${settleMarker}`,
    before.annotations?.key,
    ...(before.lists?.keys ?? []),
  ]);
  let last = '';
  return async (objects) => {
    deps.onListed?.(objects.length);
    last = lastInOrder(objects, last);
    const data = objects.filter(({ key }) => !notData.has(key)).flatMap(before.archives);
    if (labels !== undefined) for (const { key } of data) labels.noteListed(key.slice(incoming.length));
    await arrivals.see(data);
  };
}

interface Listing {
  readonly before: BeforeListing;
  readonly arrivals: NewArrivals;
  readonly see: TakePage;
  readonly bundles: Bundles;
}

/** @returns the time when it began, ISO 8601 */
async function listIncoming(
  deps: DraftDeps,
  { pipeline, notifiedSince: since }: PlanInput,
  { before: { known }, arrivals, see, bundles }: Listing,
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

function finishDraft(draft: DraftPlan, { manifests }: BeforeListing, listedAt: string): void {
  draft.finish({
    earlier: columnsBefore(manifests),
    labels: manifests.flatMap((manifest) => manifest.labels ?? []),
    at: Date.parse(listedAt),
  });
}

/** The same bytes may get another label of other annotations, and the same rows may follow another header. */
async function heldByDataset(
  store: BlobStore,
  { pipeline, packing }: PlanInput,
  {
    before: { annotations, manifests },
    draft,
  }: { readonly before: BeforeListing; readonly draft: DraftPlan },
): Promise<HeldSamples> {
  const isCompared = annotations === undefined && !sharesHeader(packing);
  return isCompared ? heldOf(store, { pipeline, manifests, draft }) : NOTHING_HELD;
}
