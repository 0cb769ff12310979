/** The table that explains a placement, and the sentence above it. */
import { trainingPrice } from '@tidewheel/catalog/catalog.ts';
import { factsWith } from '@tidewheel/catalog/hardware.ts';
import { STRATEGIES, strategyTraits } from '@tidewheel/declaration/launchers.ts';
import { deadlineHoursOf } from '@tidewheel/declaration/pipeline.ts';
import type { Candidate } from '../candidates/pools.ts';
import { adviseHelpers, NINE_OF_TEN } from '../candidates/throughput.ts';
import { assumed, dollars, hours } from '../model/assumed.ts';
import { nameOfReservation, type PoolAssessment } from '../records/placement-records.ts';
import { type Assessed, isOpen } from './assess.ts';
import { wasLostWithin } from './met.ts';
import { secondsUntilGone } from './reserved.ts';
import { whyNotAllowed } from './rules.ts';
import type { Situation } from './situation.ts';

/** A decision is stored with its table, and a DynamoDB item holds 400 KB, so only the best rows are kept. */
const MAXIMUM_ROWS = 60;
/** Rows reserved for pruned pools, so that their reasons show beside many candidates. */
const ROWS_FOR_PRUNED = 20;

/** Every pool that may be weighed at a moment. */
export interface Weighed {
  readonly assessed: readonly Assessed[];
  readonly situation: Situation;
}

interface TableInput extends Weighed {
  readonly chosen?: Assessed | undefined;
  /** What the same request names beside it. */
  readonly alternatives?: readonly Assessed[];
}

/** The chosen pool and its alternatives, then pools that may be used, then those that may not, each by expected cost, then pruned ones. */
export function rowsOf(table: TableInput): readonly PoolAssessment[] {
  const { assessed, situation, chosen, alternatives = [] } = table;
  const { pruned } = situation;
  const rank = (each: Assessed): number =>
    each === chosen ? 0 : alternatives.includes(each) ? 1 : isOpen(each) ? 2 : 3;
  const ordered = assessed.toSorted((a, b) => rank(a) - rank(b) || a.expectedCostUsd - b.expectedCostUsd);
  const weighed = MAXIMUM_ROWS - Math.min(ROWS_FOR_PRUNED, pruned.length);
  const rows = ordered.slice(0, weighed).map((each) => rowOf(each, table));
  const left = pruned.map(({ reason, ...row }) => ({ ...row, hourlyUsd: 0, verdict: `left out: ${reason}` }));
  return [...rows, ...left].slice(0, MAXIMUM_ROWS);
}

function rowOf(each: Assessed, table: TableInput): PoolAssessment {
  const { candidate, outlook, expectedSeconds, workSeconds } = each;
  const { pool, topology, score, hourlyUsd, throughput, transfer, priceNote } = candidate;
  const [least, most] = betweenOf(workSeconds, throughput).map((seconds) =>
    Math.max(0, Math.round(expectedSeconds - workSeconds + seconds)),
  );
  const notes = [priceNote, ...notesOnPace(throughput), ...noteOnDownload(candidate, table.situation)];
  return {
    pool,
    topology,
    ...(score !== undefined && { score }),
    hourlyUsd,
    ...(table.situation.work.basis !== 'assumed' && {
      expectedCostUsd: each.expectedCostUsd,
      expectedSeconds: Math.round(expectedSeconds),
      ...(least !== undefined && most !== undefined && { expectedSecondsBetween: [least, most] as const }),
    }),
    chanceNow: outlook.chanceUp,
    expectedWaitSeconds: Math.round(waitIfDown(outlook)),
    ...(Number.isFinite(outlook.upSeconds) && { expectedUpSeconds: Math.round(outlook.upSeconds) }),
    ...(transfer && { transfer }),
    verdict: `${verdictOf(each, table)} (${notes.join('; ')})`,
  };
}

/** What holds the length of the work nine times out of ten; none where it is measured. */
function betweenOf(workSeconds: number, { uncertainty }: Candidate['throughput']): readonly number[] {
  const reach = Math.exp(NINE_OF_TEN * uncertainty);
  return uncertainty === 0 ? [] : [workSeconds / reach, workSeconds * reach];
}

/** The outlook's wait is an expectation over both cases, and is 0 where capacity is there. */
const waitIfDown = ({ chanceUp, waitSeconds }: Assessed['outlook']): number =>
  chanceUp < 1 ? waitSeconds / (1 - chanceUp) : waitSeconds;

/** How the speed is known, where it was not measured, and what meets the reading. */
const notesOnPace = ({ basis, factor, reading, unknown }: Candidate['throughput']): readonly string[] =>
  [PACES[basis]?.replace('FACTOR', factor.toFixed(2)), reading, unknown].filter((each) => each !== undefined);

const PACES: Readonly<Record<Candidate['throughput']['basis'], string | undefined>> = {
  reference: undefined,
  measured: undefined,
  extrapolated: 'throughput x FACTOR extrapolated from what was measured',
  dataSheet: 'throughput x FACTOR by data sheets, nothing measured yet',
  unknown: 'throughput unknown, taken for the same',
};

/** A shorter download decides nothing. */
const LEAST_DOWNLOAD_SECONDS = 60;

function noteOnDownload(
  { download, throughput }: Candidate,
  { input: { dataset } }: Pick<Situation, 'input'>,
): readonly string[] {
  // Once a step was measured, the note on its reading says so.
  if (download?.bytes === 0 && throughput.reading === undefined && (dataset?.bytes ?? 0) > 0)
    return ['no start downloads: its shards are streamed'];
  if (download === undefined || download.seconds < LEAST_DOWNLOAD_SECONDS) return [];
  const gigabytes = (download.bytes / 1e9).toFixed(0);
  return [`each start downloads ${gigabytes} GB, about ${Math.round(download.seconds / 60)} min`];
}

/** Money that no text shows. */
const LEAST_USD = 0.005;
/** Costs that differ by less count as equal. */
const SAME_COST = 0.01;

function verdictOf(each: Assessed, { chosen, alternatives = [], situation }: TableInput): string {
  if (each === chosen) return 'chosen';
  if (alternatives.includes(each)) return 'named in the same request, for when those before have no capacity';
  const forbidden = whyNotAllowed(each, situation);
  if (forbidden !== undefined) return forbidden;
  const coolsDown = each.coolsSeconds > 0;
  const refusal = each.isQuota ? 'a quota of the account refused it lately' : 'had a capacity error lately';
  if (chosen === undefined) return coolsDown ? refusal : 'not used';
  return coolsDown && each.expectedCostUsd <= chosen.expectedCostUsd
    ? `${refusal}, left alone for a while`
    : besideChosen(each, chosen, situation);
}

function besideChosen(each: Assessed, chosen: Assessed, { work }: Situation): string {
  const dearer = each.expectedCostUsd - chosen.expectedCostUsd;
  if (dearer < 0 && wasLostWithin(each)) return 'capacity was just lost there, left alone for a while';
  if (dearer < 0 || each.outlook.chanceUp < chosen.outlook.chanceUp / 2)
    return `believed to be without capacity (chance to have it now ${Math.round(each.outlook.chanceUp * 100)} %)`;
  if (dearer > SAME_COST * chosen.expectedCostUsd)
    return work.basis === 'assumed'
      ? 'expected to cost more'
      : `expected to cost ${dollars(dearer)} more${transferShare(each)}`;
  if (each.expectedSeconds > chosen.expectedSeconds) return 'costs the same and takes longer';
  return dearer < LEAST_USD ? 'as good, second by name' : 'as good: the costs differ by less than 1 %';
}

const transferShare = ({ candidate: { transfer } }: Assessed): string =>
  transfer === undefined
    ? ''
    : `, $${transfer.usd.toFixed(2)} of it for moving ${transfer.gigabytes.toFixed(1)} GB there and back`;

/** Why this pool, in one sentence, with notes on what the market did not answer. */
export function describeAction(
  chosen: Assessed,
  alternatives: readonly Assessed[],
  situation: Situation,
): string {
  const { candidate } = chosen;
  const { work, slackSeconds, input } = situation;
  const parts = [
    work.basis === 'assumed'
      ? 'nothing is known of the pace of this pipeline yet'
      : `${aboutWork(chosen, situation)}, ${hours(slackSeconds)} of slack`,
  ];
  parts.push(...aboutMarket(chosen, situation));
  if (alternatives.length > 0)
    parts.push(`without capacity it takes ${alternatives.map(typeOf).join(', or ')}: the request names them`);
  parts.push(...aboutHelpers(chosen, situation));
  if (candidate.transfer)
    parts.push(
      `${candidate.transfer.gigabytes.toFixed(1)} GB are copied to ${candidate.pool.region ?? ''} and back for $${candidate.transfer.usd.toFixed(2)} (${candidate.transfer.priceNote})`,
    );
  parts.push(...noteOnDownload(candidate, situation), ...situation.fileSystems.notes);
  const { patienceHours, valueOfTimeUsdPerHour } = input.limits;
  const valueUsd = situation.timeUsd - situation.fileSystems.hourlyUsd;
  const worth = `worth $${valueUsd.toFixed(2)}, which every expected cost holds`;
  parts.push(
    valueOfTimeUsdPerHour === undefined
      ? `an hour sooner is assumed to be ${worth} (${assumed.timeShare * 100} % of the cheapest On-Demand price, at least $${assumed.leastTimeUsd}; tuning.limits.valueOfTimeUsdPerHour changes it)`
      : `an hour sooner is ${worth}`,
  );
  if (deadlineHoursOf(input.limits) === undefined)
    parts.push(
      patienceHours === undefined ? 'there is no deadline' : `no deadline, ${patienceHours} h of patience`,
    );
  else if (slackSeconds < 0) parts.push('the deadline can no longer be promised');
  else if (work.basis === 'assumed')
    parts.push('the deadline cannot be promised until a checkpoint shows the throughput');
  return [...parts, ...input.market.notes].join('; ');
}

/** Tells the chosen pool's part from what reservations do that begin later. */
function aboutWork(
  { workSeconds, candidate: { throughput } }: Assessed,
  { work: { basis }, planned = [] }: Situation,
): string {
  const theirs = planned.reduce((sum, each) => sum + each.workSeconds * throughput.factor, 0);
  const left = workSeconds + theirs;
  const names = new Set(planned.map(({ candidate }) => nameOfReservation(candidate.pool.reservation)));
  const part = theirs > 0 ? `, ${hours(theirs)} of them for ${[...names].join(', ')}` : '';
  const between = betweenOf(left, throughput).map(hours).join(' and ');
  return `${hours(left)} of work left (${basis}${between && `, between ${between}`})${part}`;
}

const typeOf = ({ candidate }: Assessed): string => candidate.pool.instanceType;

function aboutReservation(candidate: Candidate, situation: Situation): string {
  const untilGone = secondsUntilGone(candidate, situation);
  const ends = Number.isFinite(untilGone) ? `has to be left in ${hours(untilGone)}` : 'does not end';
  return `${nameOfReservation(candidate.pool.reservation)} is idle and has been paid for; it ${ends}`;
}

/** Why Spot, or why On-Demand. */
function aboutMarket(
  { candidate, outlook, returnUsd = 0 }: Assessed,
  situation: Situation,
): readonly string[] {
  const { work, slackSeconds, marginSeconds, input } = situation;
  if (candidate.reservation !== undefined) return [aboutReservation(candidate, situation)];
  if (candidate.pool.purchaseOption === 'spot')
    return [
      `Spot is there now with a chance of ${Math.round(outlook.chanceUp * 100)} % and expected to last ${hours(outlook.upSeconds)}`,
      ...(input.compute.purchaseOption === 'spot-then-on-demand' &&
      slackSeconds < work.restartSeconds + marginSeconds
        ? ['On-Demand is needed now and had a capacity error: Spot may do work meanwhile']
        : []),
    ];
  if (input.compute.purchaseOption === 'on-demand') return ['the pipeline asks for On-Demand'];
  return [
    slackSeconds < work.restartSeconds + marginSeconds
      ? 'the latest safe moment for On-Demand has come'
      : 'On-Demand is expected to cost no more than Spot',
    ...(returnUsd < LEAST_USD
      ? []
      : [`back to Spot when scores say that it is there, which saves $${returnUsd.toFixed(2)}`]),
  ];
}

function aboutHelpers({ candidate }: Assessed, situation: Situation): readonly string[] {
  const { helpersHourlyUsd, topology } = candidate;
  const added = topology.helpers?.map(({ instanceType, nodes }) => `${nodes} x ${instanceType}`).join(', ');
  if (added !== undefined)
    return [`${added} added, because the hosts set the pace: $${helpersHourlyUsd.toFixed(2)} an hour`];
  return helpersHourlyUsd > 0
    ? [`helper groups add $${helpersHourlyUsd.toFixed(2)} an hour to every row`]
    : helpersThatWouldPay(candidate, situation);
}

/** The model adds the helpers' CPUs to those of the training hosts, so it says nothing where helpers alone prepare data. */
function helpersThatWouldPay(
  { topology: { nodes }, pool: { instanceType, region }, throughput: { workload } }: Candidate,
  { input: { training, market, hardware } }: Situation,
): readonly string[] {
  const preparing = strategyTraits[training.strategy].dataPreparedBy;
  if (preparing === 'helpers' || workload === undefined) return [];
  const advice = adviseHelpers({
    workload,
    instanceType,
    nodes,
    may: { maximumNodes: Number.POSITIVE_INFINITY },
    priceOf: (type) => trainingPrice(type, region ?? market.region)?.hourlyUsd,
    hardware: factsWith(hardware),
  });
  if (advice === undefined) return [];
  const needed = STRATEGIES.filter((each) => strategyTraits[each].dataPreparedBy === 'allHosts');
  return [
    `${advice}${preparing === 'trainingHosts' ? ` with strategy ${needed.join(' or ')}` : ''}: see compute.helpers`,
  ];
}
