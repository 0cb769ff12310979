/** Wires a packing step: the bucket's data path, the run's record, and errors that the state machine knows. */

import { ConfigurationError, RunNotFoundError, TransientError } from '@tidewheel/kit/errors.ts';
import type { BlobStore } from '../../core/packing/model/blob-store.ts';
import { type PackingInput, packingInput } from '../../core/packing/plan/packing-input.ts';
import { likelyReaders } from '../../core/placement/candidates/likely-readers.ts';
import { runStore } from '../dynamodb/run-store.ts';
import { storedTable } from '../dynamodb/table.ts';
import { dynamo } from '../shared/clients.ts';
import { config } from '../shared/config.ts';
import { isRetryable } from './errors.ts';
import { dataPath } from './open-store.ts';

export interface PackingContext extends PackingInput {
  readonly store: BlobStore;
}

/** Runs one packing step with the settings pinned on the run; passing troubles of S3 become TransientError. */
export async function withPacking<T>(
  runId: string,
  step: (context: PackingContext) => Promise<T>,
): Promise<T> {
  const run = await runStore(storedTable(dynamo(), config.table())).get(runId);
  if (run === undefined) throw new RunNotFoundError(runId);
  const { declaration } = run;
  if (declaration === undefined)
    throw new ConfigurationError(`${runId} has no declaration: its batch is not closed yet`);
  const { store } = await dataPath();
  try {
    return await step({ store, ...packingInput(run, declaration, likelyReaders(declaration)) });
  } catch (error: unknown) {
    if (!isRetryable(error) || !(error instanceof Error)) throw error;
    throw new TransientError(error.message, { cause: error });
  }
}
