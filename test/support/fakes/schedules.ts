/** The pipelines' schedules as a map. */
import type { Schedules } from '../../../functions/core/shared/ports.ts';

export interface MemorySchedules extends Schedules {
  readonly expressions: Map<string, string>;
}

export function memorySchedules(): MemorySchedules {
  const expressions = new Map<string, string>();
  return {
    expressions,
    put: async (pipeline, expression) => {
      expressions.set(pipeline, expression);
      await Promise.resolve();
    },
    remove: async (pipeline) => {
      expressions.delete(pipeline);
      await Promise.resolve();
    },
  } satisfies MemorySchedules;
}
