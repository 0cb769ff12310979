/** The fake S3 damages answers as a network does. What it reports of an object stays true. */
import { expect, it } from 'vitest';
import { regularCorpus } from '../../support/memory-s3/listing.ts';
import { startMemoryS3 } from '../../support/memory-s3/memory-s3.ts';

it('a late HEAD answer states the object size', async () => {
  const corpus = regularCorpus({ prefix: 'late/', count: 1, size: () => 1_000, suffix: 'jpg' });
  const server = await startMemoryS3({ corpus, faults: { decide: () => 'slow' } });
  try {
    const { status, headers } = await fetch(`${server.url}/bucket/${corpus.keyAt(0)}`, { method: 'HEAD' });
    expect({ status, size: headers.get('content-length') }).toEqual({ status: 200, size: '1000' });
  } finally {
    await server.stop();
  }
});
