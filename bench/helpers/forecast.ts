/** What placement says of helpers: from a measurement without any, and of the gains that AWS has published. */

import {
  forecastStep,
  type HelperGroup,
  type MeasuredSpeed,
  NINE_OF_TEN,
  workloadOf,
} from '../../functions/core/placement/candidates/throughput.ts';
import { throughputModel } from '../../functions/core/placement/candidates/throughput-estimate.ts';

/** Four vCPUs each, as the hosts of the measurement are alike; the one that trains has an accelerator. */
const TRAINS = { instanceType: 'g5.xlarge', nodes: 1 } as const;
const HELPER_TYPE = 'c5.xlarge';

export interface Measurement {
  readonly stepSeconds: number;
  readonly steps: number;
  /** 0 to 1, of the accelerator and of the host's CPUs. */
  readonly acceleratorUse: number;
  readonly cpuUse: number;
}

export interface Forecast {
  readonly stepSeconds: number;
  /** Nine times out of ten it is between these. */
  readonly lowSeconds: number;
  readonly highSeconds: number;
}

/** As placement extrapolates from an attempt without helpers. */
export function forecastWith(helpers: number, measured: Measurement): Forecast {
  const model = throughputModel(TRAINS, [{ ...TRAINS, ...measured }]);
  const { factor, uncertainty } = model.throughputOf({
    ...TRAINS,
    acceleratorsPerNode: 1,
    helpers: helpers === 0 ? undefined : [{ name: 'helpers', instanceType: HELPER_TYPE, nodes: helpers }],
  });
  const stepSeconds = measured.stepSeconds * factor;
  const reach = Math.exp(NINE_OF_TEN * uncertainty);
  return { stepSeconds, lowSeconds: stepSeconds / reach, highSeconds: stepSeconds * reach };
}

/** https://aws.amazon.com/blogs/machine-learning/improve-price-performance-of-your-model-training-using-amazon-sagemaker-heterogeneous-clusters/ */
const PUBLISHED: MeasuredSpeed & { readonly helpers: HelperGroup; readonly withHelpersSeconds: number } = {
  instanceType: 'p4d.24xlarge',
  nodes: 1,
  stepSeconds: 0.192,
  acceleratorUse: 0.38,
  cpuUse: 0.93,
  helpers: { instanceType: 'c5.18xlarge', nodes: 2 },
  withHelpersSeconds: 0.086,
};

/** The publication's own row with helpers, and what the model says from its row without. */
export function published(): {
  readonly without: number;
  readonly measured: number;
  readonly forecast: number;
} {
  const { helpers, withHelpersSeconds, ...homogeneous } = PUBLISHED;
  const { stepSeconds } = forecastStep(workloadOf(homogeneous), { ...homogeneous, helpers });
  return { without: homogeneous.stepSeconds, measured: withHelpersSeconds, forecast: stepSeconds };
}
