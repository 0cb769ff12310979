import {
  eventBus,
  type FunctionDescription,
  stateMachine,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const report: FunctionDescription = {
  description: 'Closes the run and writes what it cost',
  // It reads a model for its digest.
  timeoutSeconds: 900,
  // It compares the scores of two models.
  memoryMegabytes: 1024,
  environment: { ...stateMachine, ...eventBus },
  permissions: [
    allow.onObjects(['PutObject', 'GetObject'], '*/runs/*/report.json'),
    allow.readObjects('*/runs/*/checkpoints/*', '*/runs/*/models/*'),
    ...allow.chooseModels,
    allow.onObjects(['PutObject', 'GetObject'], '*/runs/*/scores.jsonl', '*/models/scores/*'),
    allow.onObjects(['PutObject'], '*/runs/*/judgement.json'),
    // What an evaluation has left is scored alone.
    ...allow.startRuns,
    // A run that fails while its job runs stops the job.
    ...allow.observeAttempts(),
  ],
};
