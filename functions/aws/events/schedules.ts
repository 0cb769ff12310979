/** Schedules on EventBridge Scheduler: one per pipeline, which sends a message to the arrivals queue. */
import {
  ConflictException,
  CreateScheduleCommand,
  DeleteScheduleCommand,
  ResourceNotFoundException,
  type SchedulerClient,
  UpdateScheduleCommand,
  ValidationException,
} from '@aws-sdk/client-scheduler';
import type { Schedules } from '../../core/shared/ports.ts';

export interface ScheduleTarget {
  readonly groupName: string;
  readonly queueArn: string;
  readonly roleArn: string;
}

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
      try {
        await scheduler.send(new DeleteScheduleCommand({ Name: pipeline, GroupName: target.groupName }));
      } catch (error: unknown) {
        if (!(error instanceof ResourceNotFoundException)) throw error;
      }
    },
  };
}
