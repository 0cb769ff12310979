/** Functions that list a folder of a million arrivals do so with many requests in flight, and have the time for it. */
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { functions } from '../../../functions/handlers/functions.ts';
import { importsOf } from '../../support/import-graph.ts';

const ROOT = path.join(import.meta.dirname, '../../..');

describe.each(['settle', 'reconcile'] as const)('%s', (name) => {
  it('lists in parallel', () => {
    expect(importsOf(ROOT, `functions/handlers/${name}/handler.ts`)).toContain(
      'functions/aws/s3/parallel-lists.ts',
    );
  });

  it('has a whole core for fifteen minutes', () => {
    // https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
    expect(functions[name]).toMatchObject({ memoryMegabytes: 1_769, timeoutSeconds: 900 });
  });
});
