/**
 * What a person declares of a pipeline.
 *
 * Out: its schema, its types, the defaults that follow from it, and the parts that a person may change for one run.
 * Errors: none; schemas report problems. Called by every package and room.
 */

export type { InputChannel } from './schema/channels.ts';
export { ACCELERATOR_KINDS, isTrainingPlan, type Reserved, TRAINING_GROUP } from './schema/compute-parts.ts';
export {
  type DatasetSettings,
  datasetSchema,
  datasetSettings,
  type OnChange,
  type OnDelete,
  replayOf,
} from './schema/dataset.ts';
export { FRAMEWORKS, type Framework, frameworkVersionOf } from './schema/frameworks.ts';
export { declaredMargin, type Promote, type PromotionRule, scoredSplit } from './schema/models.ts';
export type { NoticeKind, NotifyTarget } from './schema/notify.ts';
export {
  computeSchema,
  deadlineHoursOf,
  limitsSchema,
  type PackingSettings,
  type Pipeline,
  pinned,
  pipelineName,
  pipelineNameProblem,
  pipelineSchema,
} from './schema/pipeline.ts';
export { readingHints } from './schema/reading-hints.ts';
export { type Retention, retentionSchema } from './schema/retention.ts';
export { runPartsOf, runPartsSchema, withParts } from './schema/run-parts.ts';
export {
  entryPointOf,
  type Hyperparameter,
  indexCredentialsArn,
  indexUrl,
  trainingSchema,
} from './schema/training.ts';
export { asWritten, upgradedText, withPin, writtenPipeline, writtenSchema } from './schema/tuning.ts';
export { channelsOf, type ScriptChannel } from './schema/unpacked.ts';
