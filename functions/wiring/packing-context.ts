/** Wires a packing step: the bucket's data path, the run's record, and errors that the state machine knows. */

import { ConfigurationError, RunNotFoundError, TransientError } from '@tidewheel/kit/errors.ts';
import { type PackingInput, packingInput } from '@tidewheel/packing/plan.ts';
import type { BlobStore } from '@tidewheel/packing/store.ts';
import { likelyReaders } from '@tidewheel/placement/estimate.ts';
import { runStore } from '../aws/dynamodb/run-store.ts';
import { storedTable } from '../aws/dynamodb/table.ts';
import { isRetryable } from '../aws/s3/errors.ts';
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
  return withBlobs((store) => step({ store, ...input }));
}

/** Passing troubles of S3 become TransientError. */
export async function withBlobs<T>(step: (store: BlobStore) => Promise<T>): Promise<T> {
  const { store } = await dataPath();
  try {
    return await step(store);
  } catch (error: unknown) {
    if (!isRetryable(error) || !(error instanceof Error)) throw error;
    throw new TransientError(error.message, { cause: error });
  }
}
