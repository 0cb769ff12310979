/** Constraints of the operations' inputs, as in AWS's service model of SageMaker 2017-07-24. */
import type { Constraint } from './constraints.ts';
import {
  integer,
  jobName,
  line,
  list,
  oneOf,
  planArn,
  profilerConfig,
  remoteDebugConfig,
  ruleConfigurations,
  structure,
  tagKey,
  tags,
  text,
} from './primitives.ts';

export { createTrainingJobInput } from './create-shape.ts';

export const namedJobInput = structure({ TrainingJobName: jobName }, 'TrainingJobName');

export const updateTrainingJobInput = structure(
  {
    TrainingJobName: jobName,
    ProfilerConfig: profilerConfig,
    ProfilerRuleConfigurations: ruleConfigurations,
    ResourceConfig: structure({ KeepAlivePeriodInSeconds: integer(0, 21_600) }, 'KeepAlivePeriodInSeconds'),
    RemoteDebugConfig: remoteDebugConfig,
  },
  'TrainingJobName',
);

const timestamp: Constraint = { kind: 'number' };
export const listTrainingJobsInput = structure({
  NextToken: text(8192, line),
  MaxResults: integer(1, 100),
  CreationTimeAfter: timestamp,
  CreationTimeBefore: timestamp,
  LastModifiedTimeAfter: timestamp,
  LastModifiedTimeBefore: timestamp,
  NameContains: text(63, /[a-zA-Z0-9-]+/),
  StatusEquals: oneOf('InProgress', 'Completed', 'Failed', 'Stopping', 'Stopped', 'Deleting'),
  SortBy: oneOf('Name', 'CreationTime', 'Status'),
  SortOrder: oneOf('Ascending', 'Descending'),
  WarmPoolStatusEquals: oneOf('Available', 'Terminated', 'Reused', 'InUse'),
  TrainingPlanArnEquals: planArn,
});

const resourceArn = text(256, /arn:aws[a-z-]*:sagemaker:[a-z0-9-]*:[0-9]{12}:.+/);
export const addTagsInput = structure({ ResourceArn: resourceArn, Tags: tags }, 'ResourceArn', 'Tags');
export const listTagsInput = structure(
  { ResourceArn: resourceArn, NextToken: text(8192, line), MaxResults: integer(50) },
  'ResourceArn',
);
export const deleteTagsInput = structure(
  { ResourceArn: resourceArn, TagKeys: list(tagKey, 50, 1) },
  'ResourceArn',
  'TagKeys',
);
