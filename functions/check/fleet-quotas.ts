/** EC2's quotas, counted in vCPUs of a class of families, for Spot and On-Demand apart; and the account's role for Spot. */

import { instanceFacts } from '@tidewheel/catalog/catalog.ts';
import { vcpuQuotaOf } from '@tidewheel/declaration/instance-types.ts';
import { launchersOf } from '@tidewheel/declaration/launchers.ts';
import type { Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { type GangTopology, topologiesOf } from '@tidewheel/placement/estimate.ts';
import type { Quota, QuotaQuestion } from './account-view.ts';
import { type AwsAnswer, type Finding, fails, judged, limited, passed, someOf } from './finding.ts';
import { marketsOf } from './training-quotas.ts';

type Market = ReturnType<typeof marketsOf>[number];

export const fleetQuotaFindings = (
  question: QuotaQuestion,
  look: AwsAnswer<readonly Quota[]>,
): readonly Finding[] =>
  judged({ check: 'EC2 quotas', field: `EC2 in ${question.region}` }, look, (quotas) => {
    const byCode = new Map(quotas.map((quota) => [quota.code, quota]));
    return question.pipelines.flatMap((pipeline) => fleetFindings(pipeline, question, byCode));
  });

function fleetFindings(
  pipeline: Pipeline,
  { region, launcher }: QuotaQuestion,
  quotas: ReadonlyMap<string, Quota>,
): readonly Finding[] {
  const { compute, training, name } = pipeline;
  const { topologies } = topologiesOf({ compute, training, region, launcher });
  const vcpus = ({ instanceType, nodes }: GangTopology) => (instanceFacts(instanceType)?.vcpu ?? 0) * nodes;
  const markets = marketsOf(compute).map((market) => {
    const gangs = topologies.flatMap((gang) => {
      const quota = quotaOf(gang, market, quotas);
      return quota === undefined ? [] : [{ gang, quota, isWithin: vcpus(gang) <= quota.value }];
    });
    return { market, gangs, isServed: gangs.some(({ isWithin }) => isWithin) };
  });
  const isServed = markets.some((each) => each.isServed);
  return markets.flatMap(({ market, gangs }): readonly Finding[] => {
    const place = { check: 'EC2 quotas', field: `${name}: compute.instanceTypes (${market})` };
    const beyond = gangs.filter(({ isWithin }) => !isWithin);
    const [first] = beyond;
    if (gangs.length === 0)
      return topologies.length === 0 ? [] : [unlistedFinding(place, topologies, market)];
    if (first === undefined) return [passed(place, `${gangs.length} types and sizes`)];
    const trouble = {
      value: someOf(
        beyond.map(
          ({ gang, quota }) =>
            `${gang.nodes} x ${gang.instanceType} are ${vcpus(gang)} vCPUs, "${quota.name}" is ${quota.value}`,
        ),
      ),
      remedy: `request: aws service-quotas request-service-quota-increase --service-code ec2 --quota-code ${first.quota.code} --desired-value ${Math.max(...beyond.map(({ gang }) => vcpus(gang)))}`,
    };
    return isServed || launchersOf(compute).length > 1
      ? [
          limited(place, {
            ...trouble,
            message: `EC2 refuses these on ${market}; other choices have the quota`,
          }),
        ]
      : [fails(place, { ...trouble, message: 'no declared type has the quota: no fleet can start' })];
  });
}

const unlistedFinding = (
  place: { readonly check: string; readonly field: string },
  gangs: readonly GangTopology[],
  market: Market,
): Finding => ({
  ...place,
  kind: 'notSeen',
  message: `Service Quotas lists none of ${someOf([...new Set(gangs.flatMap((gang) => codesOf(gang, market)))])}`,
  remedy: 'look for the vCPU quotas of EC2 in the Service Quotas console of this region',
});

const codesOf = ({ instanceType }: GangTopology, market: Market): readonly string[] =>
  vcpuQuotaOf(instanceType, market).codes;

const quotaOf = (gang: GangTopology, market: Market, quotas: ReadonlyMap<string, Quota>): Quota | undefined =>
  codesOf(gang, market)
    .map((code) => quotas.get(code))
    .find((quota) => quota !== undefined);

/**
 * @param pipelines those that launch instances of the account's own
 * https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/service-linked-roles-spot-instance-requests.html
 */
export function spotRoleFindings(
  pipelines: readonly Pipeline[],
  look: AwsAnswer<boolean>,
): readonly Finding[] {
  const spot = pipelines.filter(({ compute }) => marketsOf(compute).includes('spot'));
  if (spot.length === 0) return [];
  const place = { check: 'Spot service role', field: 'AWSServiceRoleForEC2Spot' };
  return judged(place, look, (exists) =>
    exists
      ? passed(place, 'exists')
      : fails(place, {
          value: 'missing',
          message: `EC2 launches no Spot instance for ${someOf(spot.map(({ name }) => name))}`,
          remedy: 'once an account: aws iam create-service-linked-role --aws-service-name spot.amazonaws.com',
        }),
  );
}
