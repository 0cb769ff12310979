import * as z from 'zod';
import { ok } from '../shared/answers.ts';
import { defineOperation, READS } from '../shared/operation.ts';

export const getOpenApi = defineOperation(
  {
    ...READS,
    route: 'GET /openapi.json',
    id: 'getOpenApi',
    summary: 'Shows this document.',
    answer: z.record(z.string(), z.unknown()),
  },
  async () => {
    // A bundle cannot write JSON Schema, so the document lies beside it (serverless/smaller-bundles.cjs).
    const { default: document } = await import('../../../docs/openapi.json', { with: { type: 'json' } });
    return ok(document);
  },
);
