/** The parts of a declaration that a single run may have of its own. The rest says how the data of all runs is packed. */
import { datasetSettings } from './dataset.ts';
import type { Pipeline } from './pipeline.ts';

/** Sections that a person may change for one run. */
export const CHANGEABLE = ['training', 'compute', 'limits', 'retention', 'dataset'] as const;

export type RunParts = Pick<Pipeline, 'training' | 'compute' | 'limits' | 'retention'> & {
  /** `dataset.pin`. What else stands in `dataset` says how generations are packed. */
  readonly pin?: string | undefined;
};

export const partsOf = ({ training, compute, limits, retention, dataset }: Pipeline): RunParts => ({
  training,
  compute,
  limits,
  retention,
  ...(dataset?.pin !== undefined && { pin: dataset.pin }),
});

/** The declaration of a run: its own parts, and the pipeline's for the rest. */
export function withParts(declared: Pipeline, { pin, ...parts }: RunParts): Pipeline {
  const { dataset, ...rest } = declared;
  if (dataset === undefined && pin === undefined) return { ...rest, ...parts };
  const { pin: _declared, ...settings } = datasetSettings(dataset);
  return { ...rest, ...parts, dataset: pin === undefined ? settings : { ...settings, pin } };
}
