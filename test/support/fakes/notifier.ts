/** Keeps what the service told others. */
import type { Notice, Notifier } from '../../../functions/core/shared/ports.ts';

interface Told {
  readonly runId: string;
  readonly notice: Notice;
}

export interface MemoryNotifier extends Notifier {
  readonly told: Told[];
}

export function memoryNotifier(): MemoryNotifier {
  const told: Told[] = [];
  return {
    told,
    notify: async ({ runId }, notice) => {
      told.push({ runId, notice });
      await Promise.resolve();
    },
  } satisfies MemoryNotifier;
}
