import { describe } from 'vitest';
import { describesBlobStore } from '../../support/contracts/blob-store.ts';
import { MemoryBlobStore } from '../../support/fakes/memory-blob-store.ts';

describe('the store in memory', () => {
  const store = new MemoryBlobStore();
  describesBlobStore({ open: () => store });
});
