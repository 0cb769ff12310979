import { describe } from 'vitest';
import { MemoryBlobStore } from '../../fakes/memory-blob-store.ts';
import { describesBlobStore } from './blob-store-contract.ts';

describe('the store in memory', () => {
  const store = new MemoryBlobStore();
  describesBlobStore({ open: () => store });
});
