import {
  eventBus,
  type FunctionDescription,
  stateMachine,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const judge: FunctionDescription = {
  description: 'Says where training stands and what comes next',
  timeoutSeconds: 120,
  // It compares the scores of one model on two sets.
  memoryMegabytes: 1024,
  environment: { ...stateMachine, ...eventBus },
  permissions: [
    allow.readObjects('*/runs/*/checkpoints/*', '*/runs/*/records/*'),
    // Whether the data is held back.
    allow.readObjects('*/dataset/*/quality/*', '*/dataset/versions/*', '*/dataset/*/manifest.json'),
    // An evaluation alone says whether what arrived is worth a training (training.when).
    ...allow.startRuns,
    allow.readObjects('*/runs/*/scores.jsonl', '*/models/scores/*', '*/models/current.json'),
    ...allow.observeAttempts(),
    // It copies home what an attempt in another region saved.
    allow.listBucketElsewhere,
    allow.readObjectsElsewhere('*/runs/*/checkpoints/*', '*/runs/*/models/*'),
    allow.onObjects(['PutObject', 'AbortMultipartUpload'], '*/runs/*/checkpoints/*', '*/runs/*/models/*'),
  ],
};
