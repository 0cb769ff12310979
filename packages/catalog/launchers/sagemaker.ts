/** SageMaker training jobs: instance groups, file systems and containers, at SageMaker's own prices. */
import { trainingType } from '@tidewheel/declaration/instance-types.ts';
import { frameworkVersionOf, type Pipeline } from '@tidewheel/declaration/pipeline.ts';
import { instanceFacts } from '../facts/catalog.ts';
import { type ImageQuestion, imageFor } from '../facts/training-images.ts';
import { inputDownload } from './input-mode.ts';
import {
  ASSUMED_SPOT_NOTE,
  ASSUMED_SPOT_SHARE,
  type LauncherFacts,
  type ListedPrices,
} from './launcher-facts.ts';

export const sageMakerFacts: LauncherFacts = {
  serviceName: 'SageMaker',
  // SageMaker fetches a container of many GB.
  restartSeconds: 300,
  reservations: ['training-plan'],
  hasVolume: (instanceType) => trainingType(instanceType)?.localStorage !== true,
  infeasible: ({ compute, topology, training, region, purchaseOption }) => {
    const type = trainingType(topology.instanceType);
    if (type === undefined) return `SageMaker does not train on ${topology.instanceType}`;
    const hasHelpers = compute.helpers !== undefined || topology.helpers !== undefined;
    if (purchaseOption === 'spot' && hasHelpers && !compute.spotWithHelpers)
      return 'AWS does not say whether Spot takes helper groups: set tuning.compute.spotWithHelpers: true to try';
    const { accelerator } = instanceFacts(topology.instanceType) ?? {};
    return training && missingImage(training, { device: type.device, accelerator, region });
  },
  downloads: inputDownload,
  bills: (listed, purchaseOption) => {
    const { trainingUsd, trainingNote } = listed;
    if (purchaseOption === 'on-demand')
      return { hourlyUsd: trainingUsd, onDemandHourlyUsd: trainingUsd, priceNote: trainingNote };
    const share = spotShare(listed);
    return {
      hourlyUsd: trainingUsd * (share ?? ASSUMED_SPOT_SHARE),
      onDemandHourlyUsd: trainingUsd,
      priceNote:
        share === undefined
          ? ASSUMED_SPOT_NOTE
          : `EC2's Spot share of ${(share * 100).toFixed(0)} % taken for SageMaker's`,
    };
  },
};

/** EC2 Spot over EC2 On-Demand: SageMaker publishes no Spot price. */
function spotShare({ ec2SpotUsd, ec2Usd }: ListedPrices): number | undefined {
  if (ec2SpotUsd === undefined || ec2Usd === undefined || ec2Usd <= 0) return undefined;
  return Math.min(1, ec2SpotUsd / ec2Usd);
}

function missingImage(
  training: Pipeline['training'],
  place: Pick<ImageQuestion, 'device' | 'accelerator' | 'region'>,
): string | undefined {
  const { image, framework } = training;
  if (image !== undefined) return undefined;
  const answer = imageFor({ framework, version: frameworkVersionOf(training), ...place });
  // A wrong framework or version is the declaration's own fault: the launch reports it with all other problems.
  return answer.kind === 'image' || answer.field === 'framework' || answer.field === 'frameworkVersion'
    ? undefined
    : answer.message;
}
