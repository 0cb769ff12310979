import { ref, STACK } from '../../../serverless/describe/cloudformation.ts';
import { eventBus, type FunctionDescription } from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const handOver: FunctionDescription = {
  description: 'Tells the model registries of declarations what was decided on models',
  timeoutSeconds: 120,
  onlyWith: 'registries',
  environment: {
    ...eventBus,
    TIDEWHEEL_REGISTRIES_QUEUE_URL: ref('RegistriesQueue'),
    TIDEWHEEL_STACK: STACK,
  },
  permissions: [
    allow.consume('RegistriesQueue'),
    // An approval there promotes here.
    allow.useTable('GetItem', 'PutItem', 'UpdateItem', 'Query'),
    ...allow.chooseModels,
    allow.putEvents,
    allow.listBucket,
    allow.readObjects('pipelines/*'),
    ...allow.handOver,
  ],
  // Its schedule is in serverless/events.yml: osls gives an event no condition.
};
