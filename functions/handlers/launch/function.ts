import { ROLE_PATHS, ref } from '../../../serverless/describe/cloudformation.ts';
import {
  eventBus,
  type FunctionDescription,
  stateMachine,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const launch: FunctionDescription = {
  description: 'Starts the training job of an attempt',
  // Copies to another region take long; a retry continues them.
  timeoutSeconds: 900,
  environment: {
    ...stateMachine,
    TIDEWHEEL_TRAINING_POLICY_ARN: ref('TrainingPolicy'),
    TIDEWHEEL_TRAINING_ROLE_PATH: ROLE_PATHS.TrainingPolicy,
    TIDEWHEEL_HOST_POLICY_ARN: ref('HostPolicy'),
    TIDEWHEEL_HOST_ROLE_PATH: ROLE_PATHS.HostPolicy,
    TIDEWHEEL_HOST_LOG_GROUP: ref('HostLogGroup'),
    ...eventBus,
  },
  permissions: [
    allow.useTable('GetItem', 'PutItem', 'UpdateItem', 'Query'),
    allow.readObjects('*/runs/*/checkpoints/*'),
    allow.listBucket,
    allow.readObjects('*/dataset/*', 'agent/*'),
    allow.onObjects(['PutObject', 'AbortMultipartUpload'], 'agent/*', '*/sources/*', '*/runs/*'),
    ...allow.startAttempts,
    ...allow.createPipelineRoles,
    allow.answerTask,
    allow.putEvents,
    allow.listBucketElsewhere,
    // A pipeline names where its code lies: anywhere in this bucket.
    allow.readObjects('*'),
    allow.readObjectsElsewhere('*/runs/*/checkpoints/*'),
    allow.writeObjectsElsewhere('*/dataset/*/shards/*', '*/sources/*', '*/runs/*', 'agent/*'),
  ],
  files: ['agent', 'automatic', 'instrument'].flatMap((folder) =>
    ['*.py', '__pycache__/*.pyc'].map((files) => `training/${folder}/**/${files}`),
  ),
};
