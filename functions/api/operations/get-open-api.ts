import * as z from 'zod';
import { ok } from '../shared/answers.ts';
import { openApiDocument } from '../shared/open-api.ts';
import { type Described, defineOperation, READS } from '../shared/operation.ts';

/** @param operations all of them, with this one */
export const getOpenApiOf = (operations: () => readonly Described[]) =>
  defineOperation(
    {
      ...READS,
      route: 'GET /openapi.json',
      id: 'getOpenApi',
      summary: 'Shows this document.',
      answer: z.record(z.string(), z.unknown()),
    },
    async () => ok(openApiDocument(operations())),
  );
