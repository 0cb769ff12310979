/**
 * What AWS would reserve for a price that is paid at once, where that is less than a run is expected to cost without it.
 * A person buys it, or does not; nothing here does.
 */

import { launcherFacts } from '@tidewheel/catalog/launchers.ts';
import type { Candidate } from '../candidates/pools.ts';
import { ENDING_SECONDS } from '../candidates/reserved-pools.ts';
import { LEAVES_SECONDS, needsNothingPaid } from '../decision/reserved.ts';
import { type PlacementInput, type Situation, situationOf } from '../decision/situation.ts';
import { restartSecondsIn, safeWorkOf } from '../decision/work.ts';
import { dollars } from '../model/assumed.ts';
import {
  type CapacityOffer,
  type OfferQuestion,
  type OfferSource,
  taken,
} from '../records/market-history.ts';
import type { Interval } from '../records/placement-records.ts';

/**
 * @param expected the cost of the rest of the run; undefined while nothing is known of its pace
 * @returns a line for the cheapest offer that holds all of the work before the deadline, and each reason why AWS did
 * not answer, once
 */
export async function offersThatPay(
  ask: OfferSource | undefined,
  input: PlacementInput,
  expected: { readonly usd: Interval } | undefined,
): Promise<readonly string[]> {
  const expectedUsd = expected?.usd.expected ?? 0;
  if (ask === undefined || expectedUsd <= 0) return [];
  const notes: string[] = [];
  const answers = await Promise.all(questionsOf(situationOf(input)).map(ask));
  const offers = answers.flatMap((answer) => taken('what AWS offers to reserve', answer, notes));
  const cheapest = offers
    .filter(({ upfrontUsd }) => upfrontUsd < expectedUsd)
    .toSorted((a, b) => a.upfrontUsd - b.upfrontUsd)
    .find((each) => needsNothingPaid(situationOf(withOffer(input, each))));
  const lines = cheapest === undefined ? [] : [lineOf(cheapest, input.market.region, expectedUsd)];
  return [...lines, ...new Set(notes)];
}

/** As if a person had bought it. */
function withOffer(input: PlacementInput, { zone, ...offer }: CapacityOffer): PlacementInput {
  const { market } = input;
  const zoneId = market.zones.find(({ zoneName }) => zoneName === zone)?.zoneId ?? zone;
  const bought = { ...offer, zoneId, availableInstances: offer.instances, state: 'scheduled' };
  return { ...input, market: { ...market, reservations: [...(market.reservations ?? []), bought] } };
}

/** One for each gang of accelerators that could train in the data's own region. */
function questionsOf(situation: Situation): readonly OfferQuestion[] {
  const questions = situation.candidates
    .filter(
      ({ closed, pool, topology, helpersHourlyUsd }) =>
        closed === undefined &&
        pool.region === undefined &&
        topology.acceleratorsPerNode > 0 &&
        helpersHourlyUsd === 0,
    )
    .flatMap((each) => questionOf(each, situation));
  return [...new Map(questions.map((each) => [JSON.stringify(each), each])).values()];
}

const HOUR_MILLISECONDS = 3_600_000;

/** The gang's type, a size and a length that are offered, and a begin after which all of the work still ends in time. */
function questionOf(
  candidate: Candidate,
  { work, secondsLeft, marginSeconds, nowMilliseconds }: Situation,
): readonly OfferQuestion[] {
  const { pool, topology } = candidate;
  const kind = (['capacity-block', 'training-plan'] as const).find((each) =>
    launcherFacts[pool.launcher].reservations.includes(each),
  );
  const trains = restartSecondsIn(candidate, work) + safeWorkOf(candidate, work);
  const mayWaitSeconds = secondsLeft - marginSeconds - trains;
  const instances = SIZES.find((size) => size >= topology.nodes);
  const hours = kind && offeredHours(kind, trains + LEAVES_SECONDS + ENDING_SECONDS);
  if (kind === undefined || instances === undefined || hours === undefined || mayWaitSeconds < 0) return [];
  const endsBefore = new Date(nowMilliseconds + 1_000 * mayWaitSeconds + hours * HOUR_MILLISECONDS);
  return [{ kind, instanceType: pool.instanceType, instances, hours, endsBefore }];
}

/** https://docs.aws.amazon.com/sagemaker/latest/dg/search-training-plan-offerings-api-cli-sdk.html */
const SIZES = [1, 2, 4, 8, 16, 32, 64];

/**
 * Both services offer whole days up to 182, but EC2 only weeks beyond 14.
 * https://docs.aws.amazon.com/sagemaker/latest/dg/search-training-plan-offerings-api-cli-sdk.html
 * https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_DescribeCapacityBlockOfferings.html
 */
function offeredHours(kind: OfferQuestion['kind'], seconds: number): number | undefined {
  const days = Math.ceil(seconds / 86_400);
  const offered = kind === 'training-plan' || days <= 14 ? days : 7 * Math.ceil(days / 7);
  return offered <= 182 ? 24 * offered : undefined;
}

const BUY: Readonly<Record<CapacityOffer['kind'], (region: string, id: string) => string>> = {
  'capacity-block': (region, id) =>
    `aws ec2 purchase-capacity-block --region ${region} --instance-platform Linux/UNIX --capacity-block-offering-id ${id}, then add its cr-… to compute.reserved`,
  'training-plan': (region, id) =>
    `aws sagemaker create-training-plan --region ${region} --training-plan-name NAME --training-plan-offering-id ${id}, then add its ARN to compute.reserved`,
};

function lineOf(
  { id, kind, instanceType, instances, windows, upfrontUsd }: CapacityOffer,
  region: string,
  expectedUsd: number,
): string {
  const milliseconds = windows.map(
    ({ startsAt, endsAt = startsAt }) => Date.parse(endsAt) - Date.parse(startsAt),
  );
  const hours = milliseconds.reduce((sum, each) => sum + each, 0) / HOUR_MILLISECONDS;
  const begin = windows[0]?.startsAt.slice(0, 16).replace('T', ' ');
  return `AWS offers ${instances} x ${instanceType} for ${hours.toFixed(1)} h from ${begin} UTC at ${dollars(upfrontUsd)} paid at once; without it the run is expected to cost ${dollars(expectedUsd)}. To buy it: ${BUY[kind](region, id)}. A run that has begun reads that when it is stopped and retried`;
}
