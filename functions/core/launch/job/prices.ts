/** What an hour of an attempt costs where it really runs: placement compares pools by SageMaker's prices and one group. */
import { ec2OnDemandUsd, trainingPrice } from '../../catalog/catalog.ts';
import type { Pipeline } from '../../pipeline/pipeline.ts';
import type { Placement } from '../../runs/run-records.ts';

/** The placement with the prices of EC2 for an attempt there that was placed before launchers were weighed, and with those of the helper groups on SageMaker. */
export function priced(
  placement: Placement,
  compute: Pick<Pipeline['compute'], 'launcher' | 'helpers'> | undefined,
  region: string,
): Placement {
  // Where the pool names its launcher, placement has weighed it at that launcher's prices.
  if (placement.pool.launcher === 'ec2') return placement;
  return compute?.launcher === 'ec2'
    ? atEc2Prices(placement, region)
    : withHelpers(placement, compute?.helpers, region);
}

/** SageMaker's Spot price follows EC2's in the same proportion, so all figures of a type scale alike. */
function atEc2Prices(placement: Placement, region: string): Placement {
  const factorOf = (instanceType: string): number => {
    const onEc2 = ec2OnDemandUsd(instanceType, region);
    const onSageMaker = trainingPrice(instanceType, region)?.hourlyUsd;
    return onEc2 === undefined || !onSageMaker ? 1 : onEc2 / onSageMaker;
  };
  return {
    ...placement,
    onDemandHourlyUsd: placement.onDemandHourlyUsd * factorOf(placement.pool.instanceType),
    considered: placement.considered.map((row) => ({
      ...row,
      hourlyUsd: row.hourlyUsd * factorOf(row.pool.instanceType),
    })),
  };
}

/**
 * Placement weighs no pool whose helpers have no known price; only attempts of before it did lack the figure, and there
 * a type without a price counts as free: the report may then say too little, and no run fails for it.
 */
function withHelpers(
  placement: Placement,
  helpers: Pipeline['compute']['helpers'],
  region: string,
): Placement {
  if (helpers === undefined || placement.helpersHourlyUsd !== undefined) return placement;
  const hourly = helpers.map(
    ({ instanceType, nodes }) => nodes * (trainingPrice(instanceType, region)?.hourlyUsd ?? 0),
  );
  return { ...placement, helpersHourlyUsd: hourly.reduce((sum, each) => sum + each, 0) };
}
