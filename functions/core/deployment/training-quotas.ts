/** SageMaker's quotas: instances of each type, for Spot and On-Demand apart, and the longest training job. */

import { launchersOf } from '../pipeline/launchers.ts';
import type { Pipeline } from '../pipeline/pipeline.ts';
import { type GangTopology, topologiesOf } from '../placement/candidates/topologies.ts';
import type { Quota, QuotaQuestion } from './account-view.ts';
import { type Finding, fails, judged, type Look, limited, passed, someOf } from './finding.ts';

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
  look: Look<readonly Quota[]>,
): readonly Finding[] =>
  judged({ check: CHECK, field: `SageMaker in ${question.region}` }, look, (quotas) => {
    const byName = new Map(quotas.map((quota) => [quota.name, quota]));
    return question.pipelines.flatMap((pipeline) => [
      ...instanceFindings(pipeline, question, byName),
      ...runTimeFindings(pipeline, byName.get(LONGEST_RUN)),
    ]);
  });

type Quotas = ReadonlyMap<string, Quota>;

function instanceFindings(
  pipeline: Pipeline,
  { region, launcher }: QuotaQuestion,
  quotas: Quotas,
): readonly Finding[] {
  const { compute, training, name } = pipeline;
  const { topologies } = topologiesOf({ compute, training, region, launcher });
  const place = { check: CHECK, field: `${name}: compute.instanceTypes` };
  if (topologies.length === 0) return [];
  const markets = marketsOf(compute).map((market) => ({ market, ...split(topologies, market, quotas) }));
  const isServed = markets.some(({ within }) => within.length > 0);
  return markets.flatMap(({ market, within, beyond, unlisted }): readonly Finding[] => {
    const field = { ...place, field: `${place.field} (${market})` };
    if (unlisted.length === topologies.length) return [unlistedFinding(field, unlisted, market)];
    if (beyond.length === 0)
      return [passed(field, `${within.length} of ${topologies.length} types and sizes`)];
    const trouble = {
      value: someOf(beyond.map((gang) => quotaText(gang, market, quotas))),
      remedy: `request: ${requestFor(beyond, market, quotas)}`,
    };
    // With the launcher `cheapest`, EC2 may still serve the run.
    if (!isServed && launchersOf(compute).length === 1)
      return [fails(field, { ...trouble, message: 'no declared type has the quota: no attempt can start' })];
    return [limited(field, { ...trouble, message: consequence(market, within) })];
  });
}

const consequence = (market: Market, within: readonly unknown[]): string =>
  within.length > 0
    ? `these types are refused on ${market}; ${within.length} other choices have the quota`
    : market === 'spot'
      ? 'no declared type has a quota for Spot: every attempt pays the On-Demand price'
      : 'no declared type has a quota for On-Demand: a run cannot change to it when its deadline is near';

/** What the account lists; a quota of which nothing is listed is neither within nor beyond. */
function split(topologies: readonly GangTopology[], market: Market, quotas: Quotas) {
  const listed = (gang: GangTopology) => quotas.get(quotaName(gang.instanceType, market));
  return {
    within: topologies.filter((gang) => (listed(gang)?.value ?? -1) >= gang.nodes),
    beyond: topologies.filter((gang) => (listed(gang)?.value ?? Number.POSITIVE_INFINITY) < gang.nodes),
    unlisted: topologies.filter((gang) => listed(gang) === undefined),
  };
}

const unlistedFinding = (
  field: { readonly check: string; readonly field: string },
  unlisted: readonly GangTopology[],
  market: Market,
): Finding => ({
  ...field,
  kind: 'notSeen',
  message: `Service Quotas lists no "${quotaName(unlisted[0]?.instanceType ?? '', market)}"`,
  remedy: 'look for the quota in the Service Quotas console of this region',
});

const quotaText = ({ instanceType, nodes }: GangTopology, market: Market, quotas: Quotas): string =>
  `${quotaName(instanceType, market)}: ${quotas.get(quotaName(instanceType, market))?.value ?? 0}, needed ${nodes}`;

/** The command for the first; the others are named by their value. */
function requestFor([first]: readonly GangTopology[], market: Market, quotas: Quotas): string {
  const quota = first && quotas.get(quotaName(first.instanceType, market));
  return `aws service-quotas request-service-quota-increase --service-code sagemaker --quota-code ${quota?.code ?? 'CODE'} --desired-value ${first?.nodes ?? 1}`;
}

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
