/** Wires a packing step: the bucket's data path and the run's record. */

import { ConfigurationError, RunNotFoundError } from '@tidewheel/kit/errors.ts';
import { type PackingInput, packingInput } from '@tidewheel/packing/plan.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import { likelyReaders } from '@tidewheel/placement/estimate.ts';
import { runStore } from '../aws/dynamodb/run-store.ts';
import { storedTable } from '../aws/dynamodb/table.ts';
import { dataPath } from '../aws/s3/open-store.ts';
import { dynamo } from '../aws/shared/clients.ts';
import { config } from '../aws/shared/config.ts';

export interface PackingContext extends PackingInput {
  readonly store: BlobStore;
}

/** Runs one packing step with the settings pinned on the run. */
export async function withPacking<T>(
  runId: string,
  step: (context: PackingContext) => Promise<T>,
): Promise<T> {
  const run = await runStore(storedTable(dynamo(), config.table())).get(runId);
  if (run === undefined) throw new RunNotFoundError(runId);
  const { declaration } = run;
  if (declaration === undefined)
    throw new ConfigurationError(`${runId} has no declaration: its batch is not closed yet`);
  const input = packingInput(run, declaration, likelyReaders(declaration));
  return step({ store: (await dataPath()).store, ...input });
}
