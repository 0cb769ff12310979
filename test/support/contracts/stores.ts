/** What every store does: run on the fakes and on DynamoDB. Each test uses pipelines of its own. */
import { describe } from 'vitest';
import type { Stores } from '../../../functions/records/stores.ts';
import { attemptStoreContract } from './stores/attempts.ts';
import { marketHistoryContract } from './stores/market-history.ts';
import { modelStoreContract } from './stores/models.ts';
import { pipelineStoreContract } from './stores/pipelines.ts';
import { placementStoreContract } from './stores/placements.ts';
import { runStoreContract } from './stores/runs.ts';
import { testObjectStoreContract } from './stores/test-objects.ts';
import { timelineStoreContract } from './stores/timeline.ts';

const CONTRACTS: Readonly<Record<string, (open: () => Promise<Stores>) => void>> = {
  pipelines: pipelineStoreContract,
  runs: runStoreContract,
  attempts: attemptStoreContract,
  placements: placementStoreContract,
  timeline: timelineStoreContract,
  'market history': marketHistoryContract,
  'test objects': testObjectStoreContract,
  models: modelStoreContract,
};

export function storesContract(name: string, open: () => Promise<Stores>): void {
  describe.each(Object.entries(CONTRACTS))(`${name}: %s`, (_, contract) => {
    contract(open);
  });
}
