/** The parts of a declaration that a single run may have of its own. The rest says how the data of all runs is packed. */
import * as z from 'zod';
import { datasetSettings } from './dataset.ts';
import { computeSchema, limitsSchema, type Pipeline } from './pipeline.ts';
import { retentionSchema } from './retention.ts';
import { trainingSchema } from './training.ts';

/** Sections that a person may change for one run. */
export const CHANGEABLE = ['training', 'compute', 'limits', 'retention', 'dataset'] as const;

export const runPartsSchema = z.object({
  training: trainingSchema,
  compute: computeSchema,
  limits: limitsSchema,
  retention: retentionSchema,
  /** `dataset.pin`. What else stands in `dataset` says how generations are packed. */
  pin: z.string().optional(),
});
export type RunParts = z.output<typeof runPartsSchema>;

export const runPartsOf = ({ training, compute, limits, retention, dataset }: Pipeline): RunParts => ({
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
