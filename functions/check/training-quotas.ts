/** SageMaker's quotas: instances of each type, for Spot and On-Demand apart, and the longest training job. */

import { launchersOf } from '@tidewheel/declaration/launchers.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { type GangTopology, topologiesOf } from '@tidewheel/placement/estimate.ts';
import type { Quota, QuotaQuestion } from './account-view.ts';
import { type AwsAnswer, type Finding, fails, judged, limited, passed, someOf } from './finding.ts';

const CHECK = 'training quotas';

/** https://docs.aws.amazon.com/general/latest/gr/sagemaker.html */
const LONGEST_RUN = 'Longest run time for a training job';

type Market = 'spot' | 'on-demand';

const quotaName = (instanceType: string, market: Market): string =>
  `ml.${instanceType} for ${market === 'spot' ? 'spot ' : ''}training job usage`;

/** The ways to buy that a pipeline uses. */
export const marketsOf = ({ purchaseOption }: Pipeline['compute']): readonly Market[] =>
  purchaseOption === 'spot-then-on-demand' ? ['spot', 'on-demand'] : [purchaseOption];

export const trainingQuotaFindings = (
  question: QuotaQuestion,
  look: AwsAnswer<readonly Quota[]>,
): readonly Finding[] =>
  judged({ check: CHECK, field: `SageMaker in ${question.region}` }, look, (quotas) => {
    const byName = new Map(quotas.map((quota) => [quota.name, quota]));
    return question.pipelines.flatMap((pipeline) => [
      ...instanceFindings(pipeline, question, byName),
      ...runTimeFindings(pipeline, byName.get(LONGEST_RUN)),
    ]);
  });

type Quotas = ReadonlyMap<string, Quota>;

/** The instances that an attempt counts to one quota. */
interface Need {
  readonly instanceType: string;
  readonly nodes: number;
}

type Gang = readonly [Need, ...Need[]];

/** What a topology takes, together with the helpers: one need for each type, that of the training hosts first. */
function gangOf({ instanceType, nodes }: GangTopology, { helpers = [] }: Pipeline['compute']): Gang {
  const others = Map.groupBy(helpers, (group) => group.instanceType);
  const ofHelpers = (type: string) => (others.get(type) ?? []).reduce((sum, group) => sum + group.nodes, 0);
  return [
    { instanceType, nodes: nodes + ofHelpers(instanceType) },
    ...[...others.keys()]
      .filter((type) => type !== instanceType)
      .map((type) => ({ instanceType: type, nodes: ofHelpers(type) })),
  ];
}

function instanceFindings(
  pipeline: Pipeline,
  { region, launcher }: QuotaQuestion,
  quotas: Quotas,
): readonly Finding[] {
  const { compute, training, name } = pipeline;
  const fields = compute.helpers === undefined ? 'instanceTypes' : 'instanceTypes and helpers';
  const markets = marketsOf(compute).flatMap((market) => {
    const { topologies } = topologiesOf({ compute, training, region, launcher, purchaseOption: market });
    const gangs = topologies.map((topology) => gangOf(topology, compute));
    return gangs.length === 0 ? [] : [{ market, gangs, ...split(gangs, market, quotas) }];
  });
  const isServed = markets.some(({ within }) => within.length > 0);
  return markets.flatMap(({ market, gangs, within, beyond, unlisted }): readonly Finding[] => {
    const place = { check: CHECK, field: `${name}: compute.${fields} (${market})` };
    if (unlisted.length === gangs.length) return [unlistedFinding(place, unlisted, { market, quotas })];
    if (beyond.length === 0) return [passed(place, `${within.length} of ${gangs.length} types and sizes`)];
    const lacking = beyond.map((gang) => gang.filter((need) => isBeyond(need, market, quotas)));
    const trouble = {
      value: someOf([...new Set(lacking.flat().map((need) => quotaText(need, market, quotas)))]),
      remedy: `request: ${(lacking[0] ?? []).map((need) => requestFor(need, market, quotas)).join(' and ')}`,
    };
    // With the launcher `cheapest`, EC2 may still serve the run.
    if (!isServed && launchersOf(compute).length === 1)
      return [fails(place, { ...trouble, message: 'no declared type has the quota: no attempt can start' })];
    return [limited(place, { ...trouble, message: consequence(market, within) })];
  });
}

const consequence = (market: Market, within: readonly unknown[]): string =>
  within.length > 0
    ? `these types are refused on ${market}; ${within.length} other choices have the quota`
    : market === 'spot'
      ? 'no declared type has a quota for Spot: every attempt pays the On-Demand price'
      : 'no declared type has a quota for On-Demand: a run cannot change to it when its deadline is near';

const listed = ({ instanceType }: Need, market: Market, quotas: Quotas): Quota | undefined =>
  quotas.get(quotaName(instanceType, market));

const isBeyond = (need: Need, market: Market, quotas: Quotas): boolean =>
  (listed(need, market, quotas)?.value ?? Number.POSITIVE_INFINITY) < need.nodes;

/** By what the account lists: a gang of which a quota is not listed, and none too small, is neither within nor beyond. */
function split(gangs: readonly Gang[], market: Market, quotas: Quotas) {
  const isListed = (need: Need) => listed(need, market, quotas) !== undefined;
  const beyond = gangs.filter((gang) => gang.some((need) => isBeyond(need, market, quotas)));
  const others = gangs.filter((gang) => !beyond.includes(gang));
  return {
    beyond,
    within: others.filter((gang) => gang.every(isListed)),
    unlisted: others.filter((gang) => !gang.every(isListed)),
  };
}

function unlistedFinding(
  place: { readonly check: string; readonly field: string },
  gangs: readonly Gang[],
  { market, quotas }: { readonly market: Market; readonly quotas: Quotas },
): Finding {
  const first = gangs.flat().find((need) => listed(need, market, quotas) === undefined);
  return {
    ...place,
    kind: 'notSeen',
    message: `Service Quotas lists no "${quotaName(first?.instanceType ?? '', market)}"`,
    remedy: 'look for the quota in the Service Quotas console of this region',
  };
}

const quotaText = (need: Need, market: Market, quotas: Quotas): string =>
  `${quotaName(need.instanceType, market)}: ${listed(need, market, quotas)?.value ?? 0}, needed ${need.nodes}`;

const requestFor = (need: Need, market: Market, quotas: Quotas): string =>
  `aws service-quotas request-service-quota-increase --service-code sagemaker --quota-code ${listed(need, market, quotas)?.code ?? 'CODE'} --desired-value ${need.nodes}`;

function runTimeFindings({ name, limits }: Pipeline, quota: Quota | undefined): readonly Finding[] {
  const place = { check: CHECK, field: `${name}: limits.maximumRunSeconds` };
  if (quota === undefined) return [];
  const value = `${limits.maximumRunSeconds} s, the quota is ${quota.value} s`;
  if (limits.maximumRunSeconds <= quota.value) return [passed(place, value)];
  return [
    fails(place, {
      value,
      message: `SageMaker refuses every job that may run longer than the quota "${LONGEST_RUN}"`,
      remedy: `lower limits.maximumRunSeconds to ${quota.value} (the run continues in a further attempt), or request: aws service-quotas request-service-quota-increase --service-code sagemaker --quota-code ${quota.code} --desired-value ${limits.maximumRunSeconds}`,
    }),
  ];
}
