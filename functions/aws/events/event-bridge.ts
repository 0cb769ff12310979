/** Amazon EventBridge: the schedules of pipelines, and the bus for notices. */

import { type EventBridgeClient, PutEventsCommand } from '@aws-sdk/client-eventbridge';
import {
  ConflictException,
  CreateScheduleCommand,
  DeleteScheduleCommand,
  GetScheduleCommand,
  ResourceNotFoundException,
  type SchedulerClient,
  UpdateScheduleCommand,
  ValidationException,
} from '@aws-sdk/client-scheduler';
import { TransientError } from '@tidewheel/kit/errors.ts';
import type { Notifier, Schedules } from '../../records/ports.ts';

export interface ScheduleTarget {
  readonly groupName: string;
  readonly queueArn: string;
  readonly roleArn: string;
}

/** One per pipeline, which sends a message to the arrivals queue. */
export function eventBridgeSchedules(scheduler: SchedulerClient, target: ScheduleTarget): Schedules {
  const requestFor = (pipeline: string, expression: string) => ({
    Name: pipeline,
    GroupName: target.groupName,
    ScheduleExpression: expression,
    FlexibleTimeWindow: { Mode: 'OFF' as const },
    Target: {
      Arn: target.queueArn,
      RoleArn: target.roleArn,
      Input: JSON.stringify({ schedule: { pipeline } }),
    },
  });
  const createOrUpdate = async (pipeline: string, expression: string) => {
    try {
      await scheduler.send(new CreateScheduleCommand(requestFor(pipeline, expression)));
    } catch (error: unknown) {
      if (!(error instanceof ConflictException)) throw error;
      await scheduler.send(new UpdateScheduleCommand(requestFor(pipeline, expression)));
    }
  };
  return {
    put: async (pipeline, expression) => {
      try {
        await createOrUpdate(pipeline, expression);
        return { kind: 'set' };
      } catch (error: unknown) {
        // The expression alone comes from a user: every other field is the service's own.
        if (!(error instanceof ValidationException)) throw error;
        return { kind: 'refused', reason: error.message };
      }
    },
    remove: async (pipeline) => {
      const { groupName: GroupName } = target;
      await scheduler.send(new DeleteScheduleCommand({ Name: pipeline, GroupName })).catch(noneIfMissing);
    },
    has: async (pipeline) => {
      const named = new GetScheduleCommand({ Name: pipeline, GroupName: target.groupName });
      return (await scheduler.send(named).catch(noneIfMissing)) !== undefined;
    },
  };
}

function noneIfMissing(error: unknown): undefined {
  if (!(error instanceof ResourceNotFoundException)) throw error;
}

const DETAIL_VERSION = 1;

/** Source `tidewheel`, detail-type the notice's name, detail versioned (docs/events.md). */
export function eventBridgeNotifier(eventBridge: EventBridgeClient, eventBusName: string): Notifier {
  return {
    notify: async ({ runId, pipeline }, { type, ...notice }) => {
      const detail = { version: DETAIL_VERSION, runId, pipeline, ...notice };
      const { FailedEntryCount, Entries } = await eventBridge.send(
        new PutEventsCommand({
          Entries: [
            {
              EventBusName: eventBusName,
              Source: 'tidewheel',
              DetailType: type,
              Detail: JSON.stringify(detail),
            },
          ],
        }),
      );
      // PutEvents answers 200 even if it accepted nothing.
      if (FailedEntryCount)
        throw new TransientError(`PutEvents refused ${type}: ${Entries?.[0]?.ErrorMessage}`);
    },
  };
}
