/** The pipelines' schedules as a map. */
import type { Schedules } from '../../../functions/records/ports.ts';

export interface MemorySchedules extends Schedules {
  readonly expressions: Map<string, string>;
}

/** What EventBridge Scheduler takes, by the outer form alone. */
const TAKEN = /^(rate\(\d+ (minute|hour|day)s?\)|cron\(\S+( \S+){5}\))$/;

export function memorySchedules(): MemorySchedules {
  const expressions = new Map<string, string>();
  return {
    expressions,
    put: (pipeline, expression) => {
      const isTaken = TAKEN.test(expression);
      if (isTaken) expressions.set(pipeline, expression);
      return Promise.resolve(
        isTaken ? { kind: 'set' } : { kind: 'refused', reason: `Invalid Schedule Expression ${expression}.` },
      );
    },
    remove: async (pipeline) => {
      expressions.delete(pipeline);
      await Promise.resolve();
    },
    has: (pipeline) => Promise.resolve(expressions.has(pipeline)),
  } satisfies MemorySchedules;
}
