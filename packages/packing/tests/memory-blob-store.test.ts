import { describe } from 'vitest';
import { describesBlobStore } from '../../../test/support/contracts/blob-store.ts';
import { MemoryBlobStore } from '../../../test/support/fakes/memory-blob-store.ts';

describe('the store in memory', () => {
  const store = new MemoryBlobStore();
  describesBlobStore({ open: () => store });
});
