/** Keeps the service's notices. */
import type { Notice } from '../../../functions/records/notices.ts';
import type { Notifier } from '../../../functions/records/ports.ts';

interface RunNotice {
  readonly runId: string;
  readonly notice: Notice;
}

export interface MemoryNotifier extends Notifier {
  readonly notices: RunNotice[];
}

export function memoryNotifier(): MemoryNotifier {
  const notices: RunNotice[] = [];
  return {
    notices,
    notify: async ({ runId }, notice) => {
      notices.push({ runId, notice });
      await Promise.resolve();
    },
  } satisfies MemoryNotifier;
}
