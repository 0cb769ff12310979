import { arnOf, ref } from '../../serverless/describe/cloudformation.ts';
import {
  eventBus,
  type FunctionDescription,
  stateMachine,
} from '../../serverless/describe/function-description.ts';
import * as allow from '../../serverless/describe/permissions.ts';

export const launch: FunctionDescription = {
  description: 'Starts the training job of an attempt',
  // Copies to another region take long; a retry continues them.
  timeoutSeconds: 900,
  environment: {
    ...stateMachine,
    TIDEWHEEL_TRAINING_ROLE_ARN: arnOf('TrainingRole'),
    TIDEWHEEL_HOST_PROFILE_ARN: arnOf('HostProfile'),
    TIDEWHEEL_HOST_LOG_GROUP: ref('HostLogGroup'),
    ...eventBus,
  },
  permissions: [
    allow.useTable('GetItem', 'PutItem', 'UpdateItem', 'Query'),
    allow.readObjects('*/runs/*/checkpoints/*'),
    allow.listBucket,
    allow.readObjects('*/dataset/*', 'agent/*'),
    allow.writeObjects('agent/*', '*/sources/*', '*/runs/*'),
    ...allow.startAttempts,
    allow.answerTask,
    allow.putEvents,
    allow.listBucketElsewhere,
    // A pipeline names where its code lies: anywhere in this bucket.
    allow.readObjects('*'),
    allow.readObjectsElsewhere('*/runs/*/checkpoints/*'),
    allow.writeObjectsElsewhere('*/dataset/*/shards/*', '*/sources/*', '*/runs/*', 'agent/*'),
  ],
  files: ['training/agent/**/*.py'],
};
