/** Tells on the timeline that a hook of the agent failed, so that the doctor knows no steps from then on. */

import { bucketKeys } from '@tidewheel/contract/bucket-keys.ts';
import { evidenceFileOf, readHostStart } from '@tidewheel/contract/evidence.ts';
import type { Clock } from '@tidewheel/kit/clock.ts';
import type { ObjectStore } from '@tidewheel/kit/object-store.ts';
import { readHostFiles } from './host-files.ts';
import type { AttemptRecord } from './run-records.ts';
import type { Stores } from './stores.ts';

/** Safe to repeat: each host of an attempt has one entry. */
export async function tellHooks(
  deps: Pick<Stores, 'timeline'> & { readonly store: ObjectStore; readonly clock: Clock },
  { pipeline, runId, attempt }: Pick<AttemptRecord, 'pipeline' | 'runId' | 'attempt'>,
): Promise<void> {
  const starts = await readHostFiles(deps.store, bucketKeys.evidence(pipeline, runId), (key) => {
    const file = evidenceFileOf(key);
    return file?.kind === 'start' && file.attempt === attempt ? file : undefined;
  });
  for (const { of: file, text } of starts) {
    const hooks = readHostStart(text)?.hooks;
    if (hooks?.kind !== 'removed') continue;
    await deps.timeline.add(runId, {
      id: `hooks-${attempt}-${file.host}`,
      at: deps.clock.now().toISOString(),
      kind: 'HooksRemoved',
      text: `attempt ${attempt}: the script on ${file.host} goes on unmeasured, since the hook on ${hooks.hook ?? 'a call'} failed: ${hooks.reason ?? ''}. The doctor knows its host, and no steps; training.instrument: false leaves the hooks out`,
    });
  }
}
