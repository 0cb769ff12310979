/** PlanShards: one immutable plan a run, whoever makes it and however often. */
import { hash } from 'node:crypto';
import type { PackingSettings } from '../../pipeline/pipeline.ts';
import { TransientError } from '../../shared/errors.ts';
import { bucketKeys } from '../../shared/keys.ts';
import { formatOf } from '../formats/formats.ts';
import { Annotations } from '../labels/annotations.ts';
import { SampleLabels } from '../labels/sample-labels.ts';
import { type BlobStore, joinChunks, type ListedBlob } from '../model/blob-store.ts';
import { type CommittedPlan, commitPlan, committedPlan } from '../model/committed-plan.ts';
import { divisionOf, type LikelyReaders, workersOf } from '../model/division.ts';
import type { Manifest, Plan } from '../model/documents.ts';
import { IMAGE_ENGINE } from '../model/image-preparation.ts';
import { places } from '../model/packing-keys.ts';
import { accountingGenerations, readSealed, sealedFilter } from '../model/sealed-arrivals.ts';
import { HEAD_BYTES } from '../model/shard-format.ts';
import { decompress } from '../model/spool.ts';
import { DraftPlan } from './draft-plan.ts';
import { itemLists } from './item-lists.ts';
import { listInParallel } from './parallel-listing.ts';
import { type Dealing, type DealingLimits, dealSamples, type SampleSizes } from './sharding.ts';

export interface PlanDeps {
  readonly store: BlobStore;
  /** Used only when the store tells no time. */
  readonly now: () => Date;
}

export interface PlanInput {
  readonly runId: string;
  readonly pipeline: string;
  readonly packing: PackingSettings;
  /** Without them only what is declared and the size say how many shards there are. */
  readonly readers?: LikelyReaders | undefined;
  /**
   * Put another plan in the place of one of another release. Only once nobody packs that one any more: its workers
   * would go on to write its shards.
   */
  readonly anew?: boolean | undefined;
  /** Name of the object that closes a batch; it is no data. */
  readonly settleMarker?: string | undefined;
}

export interface PlanResult {
  readonly status: 'planned' | 'nothingNew';
  /** Map items at layout.planItems(). */
  readonly items: number;
  readonly objects: number;
  readonly bytes: number;
  /** ISO 8601: arrivals before this are in the plan. */
  readonly listedAt: string;
}

/**
 * Returns the run's plan, making it when there is none. Of two planners at once one wins and both return its plan.
 * @throws PlanOutdatedError when the plan is of another release and not to be made anew
 */
export async function planShards(deps: PlanDeps, input: PlanInput): Promise<PlanResult> {
  const committed = await committedPlan(deps.store, input);
  if (committed.kind === 'outdated') {
    const sealed = await readSealed(deps.store, input.pipeline, input.runId);
    if (sealed !== undefined) return resultOfSealed(sealed);
    if (input.anew !== true) throw committed.error;
  }
  const plan = committed.kind === 'current' ? committed.plan : await makePlan(deps, input, committed);
  await writeItems(deps.store, plan);
  return resultOf(plan);
}

/** Nothing is left to be packed, whatever the plan was. */
const resultOfSealed = ({ arrivals, listedAt, bytes }: Manifest): PlanResult => ({
  status: 'planned',
  items: 0,
  objects: arrivals.objects,
  bytes,
  listedAt,
});

const resultOf = (plan: Plan): PlanResult => ({
  status: plan.objects === 0 ? 'nothingNew' : 'planned',
  items: plan.itemShards.length - 1,
  objects: plan.objects,
  bytes: plan.bytes,
  listedAt: plan.listedAt,
});

const dealingLimits = ({ packing, readers, runId }: PlanInput): DealingLimits => ({
  shardBytes: packing.shardMegabytes * 1e6,
  seed: `${packing.seed}/${runId}`,
  shuffle: packing.shuffle,
  ...divisionOf(packing, readers),
  remainder: packing.remainder,
});

/** Copies that balance the classes are dealt like samples, numbered after them. */
function deal(draft: DraftPlan, copies: Uint32Array, input: PlanInput): Dealing {
  const sampleOf = (place: number): number => copies[place - draft.samples] ?? place;
  const sizes: SampleSizes = {
    count: draft.samples + copies.length,
    bytesOf: (place) => draft.bytesOf(sampleOf(place)),
    objectsOf: (place) => draft.objectsOf(sampleOf(place)),
    ...(draft.preparesImages && { sourceBytesOf: (place: number) => draft.sourceBytesOf(sampleOf(place)) }),
    isDealt: (place) => draft.isDealt(sampleOf(place)),
  };
  return dealSamples(sizes, dealingLimits(input));
}

async function makePlan(
  deps: PlanDeps,
  input: PlanInput,
  before: Exclude<CommittedPlan, { kind: 'current' }>,
): Promise<Plan> {
  const over = before.kind === 'outdated' ? before.etag : undefined;
  const drafted = await draftPlan(deps, input);
  const { draft, listedAt, annotations, labels } = drafted;
  const copies = draft.balance?.copies ?? new Uint32Array();
  const dealing = deal(draft, copies, input);
  const prepare = input.packing.prepare && { engine: IMAGE_ENGINE };
  const digest = digestOf(input, drafted, over);
  const at = places(input.pipeline, input.runId);
  const lists = { digest, lists: 'zstd' } as const;
  const parts = draft.arrivals.parts();
  for (const [part, bytes] of parts.entries()) await deps.store.put(at.planArrivals(lists, part), bytes);
  for (const { item, bytes } of itemLists(draft.arrivals, {
    dealing,
    samples: draft.samples,
    copies,
    labelOf: labels && ((sample) => labels.labelOf(sample)),
  }))
    await deps.store.put(at.planList(lists, item), bytes);
  const plan: Plan = {
    version: 1,
    pipeline: input.pipeline,
    runId: input.runId,
    ...lists,
    listedAt,
    shards: dealing.shards,
    samples: draft.samples,
    objects: draft.objects,
    bytes: draft.bytes,
    rejected: draft.rejected,
    facts: await factsOf(deps.store, input.packing, draft),
    ...balanceOf(input.packing, draft),
    ...(prepare && { prepare }),
    ...(over !== undefined && { revision: digest.slice(0, 6) }),
    ...workersOf(dealing.shards, input.packing, divisionOf(input.packing, input.readers)),
    ...(dealing.even && { even: { ...dealing.even } }),
    arrivalParts: parts.length,
    dropped: [...dealing.dropped],
    ...(annotations && { annotations: await auditOf(deps.store, annotations, at.planProblems(digest)) }),
    itemShards: [...dealing.itemShards],
  };
  return commitPlan(deps.store, plan, over);
}

/** Of everything that the lists follow from. `over`: a plan made anew has lists of its own. */
const digestOf = (
  input: PlanInput,
  { draft, annotations }: Awaited<ReturnType<typeof draftPlan>>,
  over: string | undefined,
): string => {
  const engine = input.packing.prepare && IMAGE_ENGINE;
  return draft.digest(
    [JSON.stringify(input.packing), annotations?.version, engine, readersText(input), over].join(''),
  );
};

/** Drafts that count on other readers have other lists. */
const readersText = ({ readers }: PlanInput): string =>
  readers === undefined ? '' : JSON.stringify(readers);

const balanceOf = ({ balance: mode }: PackingSettings, { balance }: DraftPlan): Pick<Plan, 'balance'> =>
  mode === undefined || balance === undefined ? {} : { balance: { mode, classes: { ...balance.classes } } };

async function auditOf(
  store: BlobStore,
  annotations: Annotations,
  list: string,
): Promise<Plan['annotations']> {
  const { rows, byProblem, problems } = await annotations.audit();
  const common = { version: annotations.version, rows, byProblem: { ...byProblem } };
  if (problems === undefined) return common;
  await store.put(list, problems, { contentType: 'application/gzip' });
  return { ...common, problems: { list, sha256: hash('sha256', decompress(problems)) } };
}

async function factsOf(store: BlobStore, packing: PackingSettings, draft: DraftPlan): Promise<Plan['facts']> {
  const columns = draft.columns();
  const format = formatOf(packing);
  const header = format.takes === 'files' ? format.header : undefined;
  const { first } = draft;
  if (header === undefined || !header.isShared(packing) || first === undefined) return { columns };
  const length = Math.min(first.size, HEAD_BYTES);
  const range = length < first.size ? { range: { offset: 0, length } } : {};
  const found = await store.get(first.key, { ifMatch: first.etag, ...range });
  // Without it all others would be rejected for a header that is not theirs.
  if (found.kind !== 'found')
    throw new TransientError(`${first.key} changed while the run was planned; the next try lists anew`);
  return { columns, csvHeader: header.of(joinChunks(found.chunks)) };
}

interface Drafted {
  readonly draft: DraftPlan;
  readonly listedAt: string;
  readonly annotations: Annotations | undefined;
  readonly labels: SampleLabels | undefined;
}

async function draftPlan(deps: PlanDeps, input: PlanInput): Promise<Drafted> {
  const incoming = bucketKeys.incoming(input.pipeline);
  const annotations = await Annotations.open(deps.store, input.packing, incoming);
  const labels = annotations && new SampleLabels(annotations);
  const draft = new DraftPlan({ incoming, format: formatOf(input.packing), settings: input.packing, labels });
  const generations = await accountingGenerations(deps.store, input.pipeline);
  const isSealed = sealedFilter(deps.store, generations, annotations?.version);
  const noData = new Set([incoming, `${incoming}${input.settleMarker ?? ''}`, annotations?.key]);
  const takeUp = (object: ListedBlob): void | Promise<void> => {
    if (noData.has(object.key)) return;
    labels?.meet(object.key.slice(incoming.length));
    const sealed = isSealed(object.key, object.etag);
    if (sealed === false) draft.add(object);
    else if (sealed !== true) return sealed.then((is) => (is ? undefined : draft.add(object)));
  };
  let listedAt: string | undefined;
  for await (const page of listInParallel(deps.store, incoming)) {
    listedAt ??= (page.serverTime === undefined ? deps.now() : new Date(page.serverTime)).toISOString();
    for (const object of page.objects) {
      const turn = takeUp(object);
      if (turn !== undefined) await turn;
    }
  }
  draft.settle();
  return { draft, listedAt: listedAt ?? deps.now().toISOString(), annotations, labels };
}

/** What the distributed Map reads. Derived from the committed plan, so writing it again changes nothing. */
async function writeItems(store: BlobStore, plan: Plan): Promise<void> {
  const items = Array.from({ length: plan.itemShards.length - 1 }, (_, item) => ({
    item,
    plan: plan.digest,
  }));
  await store.put(places(plan.pipeline, plan.runId).planItems, Buffer.from(JSON.stringify(items)), {
    contentType: 'application/json',
  });
}
