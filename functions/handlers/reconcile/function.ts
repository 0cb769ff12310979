import {
  allowedNames,
  eventBus,
  every,
  type FunctionDescription,
  notifiedMarker,
  scheduleVariables,
  stateMachine,
} from '../../../serverless/describe/function-description.ts';
import * as allow from '../../../serverless/describe/permissions.ts';

export const reconcile: FunctionDescription = {
  description: 'Takes up again what an event or an execution has let fall',
  // The sweep lists all arrivals of all pipelines, as settle does.
  timeoutSeconds: 900,
  memoryMegabytes: 1769,
  environment: { ...stateMachine, ...eventBus, ...scheduleVariables, ...notifiedMarker, ...allowedNames },
  permissions: [
    // Scores say whether a job on demand should move to Spot; the hourly sweep removes what fleets left.
    ...allow.observeAttempts('DescribeLaunchTemplates', 'DescribePlacementGroups', 'GetSpotPlacementScores'),
    ...allow.replaceHosts,
    ...allow.describeReservations,
    ...allow.startRuns,
    // Runs of an earlier release come into the list of all runs.
    allow.scanTable,
    allow.stopExecutions,
    // Whether the checkpoints of a running attempt keep coming.
    allow.readObjects('*/runs/*/checkpoints/*'),
    allow.onObjects(['GetObject', 'PutObject'], '*/runs/*/report.json'),
    // A run whose execution has ended is reported here: with the digest of its model.
    ...allow.chooseModels,
    allow.readObjects('*/runs/*/models/*'),
    // A declaration whose event was lost, and its schedule.
    allow.readObjects('pipelines/*', '*/runs/*/records/*'),
    ...allow.setSchedules,
  ],
  events: [every('5 minutes', { sweep: false }), every('1 hour', { sweep: true })],
};
